"""The pages of the reference, made from what the command prints about itself."""

import json
import pathlib
import re
import subprocess
import textwrap

COMMAND = re.compile(r"^  ([a-z-]+) +\S")
PAGE = re.compile(r"https://ftlab\.github\.io/ftlab/(\S+)\.html")
EXAMPLE = re.compile(r"^(.*, such as:)\n((?: {2}.*\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^ {2,6}(-\S.*|<.*|\[.*)$")
LISTS = {
    "ftls": "FTLs",
    "layers": "Layers above an FTL",
    "victims": "Victim policies",
    "wear": "Policies of wear levelling",
    "chips": "Chips",
    "drives": "Drives",
    "workloads": "Workloads",
    "formats": "Formats of traces",
}


def pages(root: pathlib.Path, ftlab: str) -> dict[str, tuple[str, str]]:
    """The files of the pages, each with its title and its text."""
    made = {
        "reference/command.md": ("The command and its options", command(ftlab)),
        "reference/lists.md": ("What can be named in a spec", lists(ftlab)),
        "reference/schemes.md": ("The schemes, with their pictures", schemes(ftlab)),
        "reference/crates.md": ("Documentation of the crates", crates(root)),
    }
    return {name: (title, f"# {title}\n\n{text}") for name, (title, text) in made.items()}


def printed(ftlab: str, *arguments: str) -> str:
    return subprocess.run([ftlab, *arguments], check=True, capture_output=True, text=True).stdout


def command(ftlab: str) -> str:
    """The help of every subcommand."""
    text = "What `ftlab help` prints, as a page. A default stands in brackets.\n\n"
    for path in subcommands(ftlab, []):
        text += f"## ftlab {' '.join(path)}\n\n" + of_help(printed(ftlab, *path, "--help"))
    return text


def subcommands(ftlab: str, path: list[str]) -> list[list[str]]:
    """The paths of all subcommands, such as `trace info`."""
    below = printed(ftlab, *path, "--help").partition("\nCommands:\n")[2].partition("\n\n")[0]
    names = [found[1] for line in below.splitlines() if (found := COMMAND.match(line)) and found[1] != "help"]
    found = []
    for name in names:
        found += [[*path, name], *subcommands(ftlab, [*path, name])]
    return found


def of_help(text: str) -> str:
    """A help text as Markdown: headings stay, options become terms with their descriptions."""
    if example := EXAMPLE.search(text):
        code = f"```text\n{textwrap.dedent(example[2])}```\n\n"
        return of_help(text[: example.start()]) + f"{example[1]}\n\n{code}" + of_help(text[example.end() :])
    done, term, below = "", None, []
    for line in [*text.splitlines(), ""]:
        column = len(line) - len(line.lstrip())
        is_entry = ENTRY.match(line) and not (term and column > term[0])
        if term and (is_entry or (line.strip() and column == 0)):
            done += definition(term[1], below)
            term, below = None, []
        if is_entry:
            name, _, first = line.strip().partition("  ")
            term, below = (column, name), [first.strip()]
        elif term:
            below.append(line.strip())
        elif line.startswith("Usage:"):
            done += f"```text\n{line.removeprefix('Usage: ')}\n```\n\n"
        elif line.endswith(":") and column == 0:
            done += f"### {line[:-1]}\n\n" if line != "Commands:" else "Subcommands:\n\n"
        elif named := COMMAND.match(line):
            done += f"- `{named[1]}`: {escaped(line[named.end() - 1 :])}\n" if named[1] != "help" else ""
        else:
            done += escaped(line) + "\n"
    return without_repeats(done + (definition(term[1], below) if term else "")) + "\n"


def without_repeats(text: str) -> str:
    """Without what every subcommand has: help and the limit of memory."""
    text = re.sub(r"`-h, --help`\n: .*\n\n", "", text)
    text = re.sub(r"### Memory\n\n`--memory-limit.*\n: .*\n\n?", "", text)
    return re.sub(r"### Options\n\n(?=#|$)", "", text)


def definition(term: str, lines: list[str]) -> str:
    """A term with its description, whose paragraphs are joined into one."""
    said, mark, values = " ".join(" ".join(lines).split()).partition(" Possible values: - ")
    text = f"{said}. Possible values: {values.replace(' - ', '; ')}" if mark else said
    return f"`{term}`\n: {escaped(text) or '–'}\n\n"


def escaped(text: str) -> str:
    """Text whose marks mean themselves, but for code and addresses."""
    return "".join(escaped_part(part) for part in re.split(r"(`[^`]*`|https://\S+)", text))


def escaped_part(part: str) -> str:
    if part.startswith("`"):
        return part
    if part.startswith("https://"):
        return PAGE.sub(r"[\1](../\1.md)", part) if PAGE.match(part) else f"<{part}>"
    return re.sub(r"([<>*_\[\]|\\])", r"\\\1", part)


def lists(ftlab: str) -> str:
    """Every list of `ftlab list`, with the parameters of its entries."""
    known = json.loads(printed(ftlab, "list", "--json"))
    assert known.keys() == LISTS.keys(), f"titles for {sorted(known)} are missing in {__file__}"
    text = "What `ftlab list` prints, as a page. A spec is a name, such as `page`, or a name with values for "
    text += "parameters, such as `page:victim=fifo,frontiers=2`.\n\n"
    for name, title in LISTS.items():
        text += f"## {title}\n\n" + "".join(entry(one) for one in known[name])
    return text


def entry(one: dict) -> str:
    text = f"### `{one['name']}`\n\n{escaped(one['summary'])}.\n\n"
    if one["source"]:
        text += f"*Source:* {escaped(one['source'])}.\n\n"
    for parameter in one["params"]:
        kind = " | ".join(parameter["choices"]) or kind_of(parameter["kind"], parameter["unit"])
        text += definition(f"{parameter['name']}={parameter['default']}", [f"{parameter['doc']} ({kind})"])
    return text


def kind_of(kind: str, unit: str) -> str:
    """What a value is: `blocks`, `time, ns`, `share of all requests`."""
    if not unit or kind == "count":
        return unit or kind
    return f"{kind} {unit}" if kind == "share" else f"{kind}, {unit}"


def schemes(ftlab: str) -> str:
    """What `ftlab list ftls NAME` says of each FTL, above its parameters."""
    text = "What `ftlab list ftls NAME` prints, as a page: what each FTL is, and how its blocks look.\n\n"
    for one in json.loads(printed(ftlab, "list", "ftls", "--json")):
        said = printed(ftlab, "list", "ftls", one["name"]).partition("\n\n")[2].partition("\nparameters\n")[0]
        text += f"## {one['name']}\n\n" + "".join(paragraph(part) for part in said.split("\n\n"))
    return text


def paragraph(part: str) -> str:
    """Pictures are indented; they stay as they are."""
    is_picture = all(line.startswith("  ") for line in part.splitlines() if line)
    text = re.sub(r"\*(\w[^*`|]*[\w.:])\*", r"\1", part)
    return f"```text\n{part}\n```\n\n" if is_picture else f"{escaped(text)}\n\n"


def crates(root: pathlib.Path) -> str:
    """The crates with their descriptions, and links to cargo's documentation of them."""
    found = json.loads(subprocess.run(
        ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"],
        cwd=root, check=True, capture_output=True, text=True,
    ).stdout)
    text = "How programs use the crates. [Architecture](../ARCHITECTURE.md) says how they fit together.\n\n"
    for package in found["packages"]:
        library = next((it["name"] for it in package["targets"] if "lib" in it["kind"]), None)
        if library and package["publish"] is None:
            text += f"- [`{package['name']}`](../api/{library}/index.html): {escaped(package['description'] or '')}\n"
    return text
