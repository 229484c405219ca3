//! `ftlab completions`: the completion script for a shell, made from the declarations that parse
//! the command line.
//!
//! A TRACE is a file or a workload. bash falls back to files by itself. The generated scripts for
//! zsh and fish complete either files or names, so they are extended here. A word with a colon that
//! no option takes is completed as a workload, or else as a file.
//!
//! The keys behind a name, and their values, are too many for a script. Behind a colon the scripts
//! for bash, zsh and fish ask `ftlab complete`; see [`spec_values`].

pub mod spec_values;

use clap::{Arg, Command};
use clap_complete::Shell;

use crate::failure::Result;
use crate::known_names::workloads;
use crate::output;

/// Options of `ftlab completions`.
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Runs the subcommand.
pub fn run(args: &Args, command: Command) -> Result<()> {
    let command = without_hidden(&command);
    let script = match args.shell {
        Shell::Bash => bash(command),
        Shell::Zsh => zsh(command),
        Shell::Fish => {
            generated(Shell::Fish, command.clone()) + &fish_names(&command, &[]) + &fish_specs()
        }
        shell => generated(shell, command),
    };
    output::print(&script)
}

fn generated(shell: Shell, mut command: Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "ftlab", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The same command without hidden subcommands, which the generators would offer.
fn without_hidden(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    let version = command.get_version().unwrap_or_default().to_owned();
    Command::new(command.get_name().to_owned())
        .version(version)
        .args(command.get_arguments())
        .subcommands(shown)
}

/// Whether an argument takes a file or a name.
fn is_trace(arg: &Arg) -> bool {
    arg.get_id() == "trace" && !arg.get_possible_values().is_empty()
}

/// Options whose values are specs.
const SPECS: [&str; 4] = ["ftl", "chip", "drive", "format"];

/// The script for bash. Its function looks at the words between blanks and leaves everything but
/// specs to the generated one. Bash itself cuts words at `:` and `=`, and takes only the last piece
/// of an answer. So `--option=value` is passed on as an option and its value.
fn bash(command: Command) -> String {
    let script = generated(Shell::Bash, command);
    let options = SPECS.map(|option| format!("--{option}")).join("|");
    let specs = format!(
        r#"_ftlab() {{
    local line="${{COMP_LINE:0:COMP_POINT}}"
    local word="${{line##*[[:space:]]}}" before="${{line%[[:space:]]*}}"
    local option="${{before##*[[:space:]]}}" list=trace kept
    if [[ "$word" == --*=* ]]; then
        option="${{word%%=*}}" word="${{word#*=}}"
        set -- "$1" "$word" "$option"
    fi
    case "$option" in
        {options}) list="${{option#--}}" ;;
    esac
    if [[ "$word" == *:* ]]; then
        kept="${{word%"${{word##*[:=]}}"}}"
        COMPREPLY=($(ftlab complete "$list" "$word"))
        COMPREPLY=("${{COMPREPLY[@]#"$kept"}}")
        if [[ $list != trace || ${{#COMPREPLY[@]}} -gt 0 ]]; then
            compopt -o nospace
            return
        fi
    fi
    _ftlab_plain "$@"
}}

"#
    );
    specs + &script.replacen("_ftlab() {", "_ftlab_plain() {", 1)
}

/// Lines for fish: what can stand behind the colon of a spec. Beside workloads, which are traces,
/// fish offers files.
fn fish_specs() -> String {
    let line = |words: &str, list: &str| {
        format!(
            r#"complete -c ftlab -n "string match -q '*:*' -- (commandline -ct)" {words} \
    -a "(ftlab complete {list} (commandline -ct))""#
        ) + "\n"
    };
    let specs = SPECS.map(|option| line(&format!("-l {option} -x"), option));
    specs.concat() + &line("-l load -r", "trace") + &line("", "trace")
}

/// The script for zsh, in which traces are completed by a function of their own.
fn zsh(command: Command) -> String {
    let function: String = workloads()
        .iter()
        .map(|(name, summary)| format!("        '{name}:{}'\n", summary.replace('\'', "'\\''")))
        .collect();
    let function = format!(
        "_ftlab_traces() {{\n    local -a workloads=(\n{function}    )\n    \
         _describe -t workloads workload workloads -S ''\n    _files\n}}\n\n"
    );
    let script = generated(Shell::Zsh, with_plain_traces(command));
    let lines = script.split_inclusive('\n').map(|line| match line.starts_with("'::trace -- ") {
        true => line.replace(":_default'", ":_ftlab_traces'"),
        false => line.to_owned(),
    });
    let script: String = lines.collect();
    // The first line tells zsh which command the script completes.
    let (head, rest) = script.split_once('\n').unwrap_or(("", &script));
    let rest = rest.replacen("_ftlab() {", "_ftlab_plain() {", 1);
    format!("{head}\n\n{function}{}{rest}", zsh_specs())
}

/// The function for zsh that completes specs, and leaves everything else to the generated one.
fn zsh_specs() -> String {
    let options = SPECS.join("|");
    format!(
        r#"_ftlab() {{
    local option="${{words[CURRENT-1]}}"
    if [[ "$option" == --({options}) && "$PREFIX" == *:* ]]; then
        compadd -S '' -- ${{(f)"$(ftlab complete ${{option#--}} "$PREFIX")"}}
        return
    fi
    local -a workloads=()
    if [[ "$PREFIX" == *:* ]]; then
        workloads=(${{(f)"$(ftlab complete trace "$PREFIX")"}})
    fi
    if (( $#workloads )); then
        compadd -S '' -- $workloads
    else
        _ftlab_plain "$@"
    fi
}}

"#
    )
}

/// The same command with traces that have no names to choose from.
fn with_plain_traces(command: Command) -> Command {
    let command = command.mut_args(|arg| match is_trace(&arg) {
        true => arg.hide_possible_values(false).value_parser(clap::value_parser!(String)),
        false => arg,
    });
    command.mut_subcommands(with_plain_traces)
}

/// Lines for fish: the names with which positional arguments can begin. `path` are the names of the
/// subcommands down to this one.
fn fish_names(command: &Command, path: &[&str]) -> String {
    let names = command.get_positionals().flat_map(Arg::get_possible_values);
    let names = names.filter(|name| !name.is_hide_set());
    let words: Vec<String> = names
        .map(|name| {
            let help = name.get_help().map(ToString::to_string).unwrap_or_default();
            format!("{}\\t'{}'", name.get_name(), help.replace('\'', "\\'"))
        })
        .collect();
    let lines = match (words.is_empty(), path.split_first()) {
        (false, Some((first, rest))) => {
            let below = rest.iter().map(|name| format!("; and __fish_seen_subcommand_from {name}"));
            let condition =
                format!("__fish_ftlab_using_subcommand {first}{}", below.collect::<String>());
            let words = words.join("\n").replace('"', "\\\"");
            format!("complete -c ftlab -n \"{condition}\" -a \"{words}\"\n")
        }
        _ => String::new(),
    };
    let below = command.get_subcommands();
    let below = below.map(|sub| fish_names(sub, &[path, &[sub.get_name()]].concat()));
    lines + &below.collect::<String>()
}
