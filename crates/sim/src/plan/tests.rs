//! Correct plans, and every mistake with its line and column.

use super::claim::Judgement::{FallsShort, Holds, Undecided};
use super::claim::Wanted;
use super::drawing::Drawing;
use super::*;
use crate::config::choices::Fit;
use crate::config::experiment::Experiment;
use crate::config::values::Extra;
use serde_json::{Value, json};

fn plan(text: &str) -> Plan {
    Plan::parse("p.toml", text, Scale::Full).unwrap_or_else(|error| panic!("{error}"))
}

#[track_caller]
fn wrong(text: &str) -> String {
    let error = Plan::parse("p.toml", text, Scale::Full).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
    error.to_string()
}

/// The FTLs of the rows.
fn ftls(plan: &Plan) -> Vec<&str> {
    plan.rows.iter().map(|row| row.experiment.ftl.as_str()).collect()
}

#[test]
fn an_empty_plan_is_one_default_run() {
    let plan = plan("");
    assert_eq!(plan.rows.len(), 1);
    assert_eq!(plan.rows[0].experiment, Experiment::default());
    assert!(plan.rows[0].varied.is_empty());
}

#[test]
fn a_grid_has_every_combination_with_the_last_key_fastest() {
    let plan = plan(
        "[base]\nfit = \"wrap\"\n\
         [[grid]]\nwarmup = [0, 1]\nextra = [\"7%\", \"10blocks\"]\nseed = 9",
    );
    let of = |row: &Row| {
        let Experiment { warmup, extra, fit, seed, .. } = row.experiment;
        assert_eq!((fit, seed), (Fit::Wrap, 9));
        (warmup, extra.unwrap().to_string())
    };
    let rows: Vec<_> = plan.rows.iter().map(of).collect();
    let expected = [(0, "7%"), (0, "10blocks"), (1, "7%"), (1, "10blocks")];
    assert_eq!(rows, expected.map(|(warmup, extra)| (warmup, extra.to_owned())));
    assert_eq!(
        Value::Object(plan.rows[3].varied.clone()).to_string(),
        r#"{"warmup":1,"extra":"10blocks","seed":9}"#
    );
}

#[test]
fn a_value_of_the_base_varies_if_other_rows_set_the_option() {
    let plan = plan(
        "[base]\nextra = \"7%\"\nseed = 9\nftl.victim = \"fifo\"\n\
         [[grid]]\nwarmup = 0\n[[grid]]\nextra = \"15%\"\n[[grid]]\nftl = \"dac\"",
    );
    let varied = |row: &Row| Value::Object(row.varied.clone());
    assert_eq!(
        plan.rows.iter().map(varied).collect::<Vec<_>>(),
        [
            json!({"warmup": 0, "extra": "7%"}),
            json!({"extra": "15%"}),
            json!({"ftl": "dac", "extra": "7%"}),
        ]
    );
    assert_eq!(plan.rows[0].experiment.extra.unwrap().to_string(), "7%");
}

#[test]
fn an_option_of_the_base_stands_beside_a_key_inside_it() {
    let plan = plan(
        "[base]\nftl = \"page\"\n[[grid]]\nftl.victim = [\"greedy\", \"fifo\"]\n\
         [[list]]\nftl = [\"dac\", \"fast\"]",
    );
    let varied: Vec<Value> = plan.rows.iter().map(|it| it.varied.clone().into()).collect();
    let page = |victim: &str| json!({"ftl.victim": victim, "ftl": "page"});
    let expected = [page("greedy"), page("fifo"), json!({"ftl": "dac"}), json!({"ftl": "fast"})];
    assert_eq!(varied, expected);
}

#[test]
fn a_list_pairs_its_values_and_sets_keep_their_order() {
    let plan = plan(
        "[[list]]\nseed = [1, 2]\nwarmup = [3, 4]\nftl = \"block\"\n\
                     [[grid]]\nseed = 7\n[[list]]\nseed = 8",
    );
    let rows: Vec<_> =
        plan.rows.iter().map(|row| (row.experiment.seed, row.experiment.warmup)).collect();
    assert_eq!(rows, [(1, 3), (2, 4), (7, 1), (8, 1)]);
    assert_eq!(ftls(&plan), ["block", "block", "page", "page"]);
}

#[test]
fn keys_inside_specs_can_be_written_with_and_without_quotes() {
    let plan = plan(
        "[base]\nftl = \"page:victim=dchoices,d=2\"\nchip.page = \"4KiB\"\n\
                     [[grid]]\n\"ftl.d\" = [3, 4]\nftl.frontiers = 2\n\
                     [[grid]]\nftl = \"page\"\ntrace.writes = [10, \"4M\"]",
    );
    assert_eq!(
        ftls(&plan)[..2],
        ["page:victim=dchoices,d=3,frontiers=2", "page:victim=dchoices,d=4,frontiers=2",]
    );
    assert_eq!(ftls(&plan)[2..], ["page", "page"]);
    assert_eq!(plan.rows[0].experiment.chip, "slc-fast2010:page=4KiB");
    let trace = |row: usize| plan.rows[row].experiment.trace.as_deref();
    assert_eq!(
        [trace(0), trace(2), trace(3)],
        [None, Some("oltp:writes=10"), Some("oltp:writes=4M")]
    );
}

#[test]
fn several_loads_are_a_list_and_a_list_of_lists_varies_them() {
    let loads = |row: &Row| -> Vec<String> {
        row.experiment.load.iter().map(ToString::to_string).collect()
    };
    let text = "[base]\nload = [\"disk.csv@open\", \"oltp\"]\n\
                [[grid]]\nshared = [true, false]\n\
                [[grid]]\nload = [[\"oltp@closed:depth=2\", \"disk.csv\"], \"zipf:writes=9\"]\n\
                [[claim]]\nid = \"C\"\nsays = \"s\"\nfigure = \"erases.total\"\n\
                rows = [{ load = [\"oltp@closed:depth=2\", \"disk.csv\"], at_least = 1 }]\n\
                [quick]\nseed = 2\n[quick.instead]\n\"disk.csv\" = \"uniform:writes=7\"";
    let full = plan(text).with_traces_in("/d".as_ref());
    let expected = [
        vec!["/d/disk.csv@open", "oltp"],
        vec!["/d/disk.csv@open", "oltp"],
        vec!["oltp@closed:depth=2", "/d/disk.csv"],
        vec!["zipf:writes=9"],
    ];
    assert_eq!(full.rows.iter().map(loads).collect::<Vec<_>>(), expected);
    assert_eq!(full.claims[0].rows().collect::<Vec<_>>(), [2]);
    let quick = Plan::parse("p", text, Scale::Quick).unwrap();
    assert_eq!(loads(&quick.rows[2]), ["oltp@closed:depth=2", "uniform:writes=7"]);
    assert!(wrong("[base]\nload = [\"oltp\", \"-\"]").contains("standard input"));
    assert!(wrong("[base]\nload = \"a@clsoed\"").contains("did you mean `closed`"));
    assert!(wrong("[base]\nshared = true").contains("`--shared`"));
    assert!(wrong("[base]\nseed = [1, 2]").contains("not this array"));
}

#[test]
fn several_options_can_vary_together() {
    let plan = plan(
        "[[grid]]\nseed = [1, 2]\nshape = [{ ftl = \"block\", warmup = 0 }, \
                     { ftl.victim = \"fifo\" }]",
    );
    assert_eq!(ftls(&plan), ["block", "page:victim=fifo", "block", "page:victim=fifo"]);
    assert_eq!(plan.rows[2].experiment.warmup, 0);
    assert_eq!(plan.rows[2].experiment.seed, 2);
}

#[test]
fn quick_replaces_files_by_workloads_and_claims_still_find_their_rows() {
    let text = "[base]\ncapacity = \"1GiB\"\n\
                [[grid]]\ntrace = [\"a.txt\", \"b.txt\"]\nformat = \"disksim:unit=s\"\n\
                ftl = [\"page\", \"last:log=4096,sequential_log=256\"]\n\
                [quick]\ncapacity = \"1MiB\"\n\
                [quick.instead]\n\"a.txt\" = \"uniform:writes=10\"\n\"log=4096\" = \"log=8\"\n\
                [[claim]]\nid = \"A\"\nsays = \"\"\nfigure = \"time_us.total\"\n\
                rows = [{ trace = \"a.txt\", ftl = \"page\", expected = 1 }]";
    let plan = |scale| Plan::parse("p", text, scale).unwrap();
    let (full, quick) = (plan(Scale::Full), plan(Scale::Quick));
    let seen = |plan: &Plan, row: usize| {
        let Experiment { trace, format, ftl, .. } = &plan.rows[row].experiment;
        (trace.clone().unwrap(), format.is_some(), ftl.clone())
    };
    let last = "last:log=4096,sequential_log=256";
    assert_eq!(seen(&full, 1), ("a.txt".into(), true, last.into()));
    let last = "last:log=8,sequential_log=256";
    assert_eq!(seen(&quick, 1), ("uniform:writes=10".into(), false, last.into()));
    assert_eq!(seen(&quick, 2), ("b.txt".into(), true, "page".into()));
    assert_eq!(quick.rows[0].varied["trace"], "uniform:writes=10");
    let verdicts = quick.claims[0].judge(|_| Some(1.0));
    assert_eq!(
        (verdicts[0].row, verdicts[0].label.as_str()),
        (0, "trace=uniform:writes=10 ftl=page")
    );
    let typo = text.replace("\"a.txt\" = ", "\"c.txt\" = ");
    let error = Plan::parse("p", &typo, Scale::Full).unwrap_err().to_string();
    assert!(error.contains("no row has `c.txt`"), "{error}");
}

#[test]
fn options_of_layers_vary_like_others_and_are_checked_in_each_row() {
    let plan = plan(
        "[base]\nftl = \"dftl\"\n[[grid]]\nbuffer = [65536, \"1MiB,evict=run\"]\n\
         [[grid]]\ndram = \"64KiB\"\nsplit = [\"30%\", \"adaptive:max_step=2%\"]\n\
         [[claim]]\nid = \"a\"\nsays = \"b\"\nfigure = \"layers.split.map_share\"\n\
         rows = [{ split = \"30%\", expected = 0.3 }, { buffer = 65536, at_least = 0 }]",
    );
    let of = |row: &Row| {
        let texts = row.experiment.texts();
        ["buffer", "dram", "split"].map(|name| texts[name].as_str().unwrap_or_default().to_owned())
    };
    let rows: Vec<_> = plan.rows.iter().map(of).collect();
    let expected = [
        ["65536", "", ""],
        ["1MiB,evict=run", "", ""],
        ["none", "64KiB", "30%"],
        ["none", "64KiB", "adaptive:max_step=2%"],
    ];
    assert_eq!(rows, expected);
    let message = wrong("[[grid]]\nftl = [\"fast\", \"page\"]\ndram = \"64KiB\"");
    assert!(message.starts_with("p.toml:3:8: split: the map of page"), "{message}");
    assert!(wrong("[base]\nbuffer = \"1MiB,evcit=run\"").contains("did you mean `evict`?"));
    assert!(wrong("[base]\nsplit = \"adaptiv\"").starts_with("p.toml:2:9: split, key"));
    assert!(wrong("[base]\ndram_access = \"11s\"").contains("beyond"));
}

#[test]
fn quick_changes_the_base_but_not_what_a_grid_varies() {
    let text = "[base]\ncapacity = \"1GiB\"\ntrace = \"uniform:writes=4M\"\nseed = 3\n\
                [quick]\ncapacity = \"1MiB\"\ntrace.writes = 100\nextra = \"9%\"\n\
                [[grid]]\nextra = \"7%\"";
    let of = |scale| Plan::parse("p", text, scale).unwrap().rows.remove(0).experiment;
    let (full, quick) = (of(Scale::Full), of(Scale::Quick));
    assert_eq!((full.capacity_bytes, quick.capacity_bytes), (Some(1 << 30), Some(1 << 20)));
    assert_eq!(full.trace.as_deref(), Some("uniform:writes=4M"));
    assert_eq!(quick.trace.as_deref(), Some("uniform:writes=100"));
    assert_eq!(quick.extra, Some("7%".parse::<Extra>().unwrap()));
    assert_eq!((full.seed, quick.seed), (3, 3));
    let error = Plan::parse("p", "", Scale::Quick).unwrap_err().to_string();
    assert!(error.contains("no [quick] part"), "{error}");
}

#[test]
fn mistakes_are_reported_with_line_and_column() {
    let cases = [
        ("[base\n", "p.toml:1:6: "),
        ("\n[base]\nseed = \n", "p.toml:3:8: "),
        ("title = 3", "p.toml:1:9: `title` is not a text"),
        ("[bass]", "p.toml:1:2: a plan has no key `bass`; did you mean `base`?"),
        ("[base]\n  sed = 3", "p.toml:2:3: an experiment has no key `sed`; did you mean `seed`?"),
        (
            "[base]\nftk.victim = 1",
            "p.toml:2:1: an experiment has no key `ftk`; did you mean `ftl`?",
        ),
        ("[base]\nseed.x = 1", "p.toml:2:1: "),
        ("[base]\nfit = \"warp\"", "p.toml:2:7: unknown fit `warp`; did you mean `wrap`?"),
        ("[base]\nseed = -1", "p.toml:2:8: -1 is not between 0 and"),
        ("[base]\nseed = \"x\"", "p.toml:2:8: "),
        ("[base]\nverify = 3", "p.toml:2:10: "),
        (
            "[base]\nseed = [1]",
            "p.toml:2:8: a number, text or switch is wanted here, not this array",
        ),
        ("[base]\nextra = 7", "p.toml:2:9: "),
        ("[base]\nlimit = 0", "p.toml:2:9: a limit of 0"),
        ("[base]\ntrace = \"-\"", "p.toml:2:9: a sweep reads its traces several times"),
        ("[base]\ntrace = \"unifrom:writes=1\"", "p.toml:2:9: unknown workload `unifrom`"),
        ("[base]\nftl = \"pgae\"", "p.toml:2:7: unknown scheme `pgae`; did you mean `page`?"),
        ("[base]\nftl.victm = 1", "p.toml:2:13: scheme page has no key `victm`; did you mean"),
        (
            "[base]\nformat.action = \"Q\"",
            "p.toml:2:17: `format` is not given, so `action` cannot be set",
        ),
        ("[base]\ntrace = \"/t\"\ntrace_ = 1", "p.toml:3:1: "),
        ("[base]\ntrace = \"/t\"\n[[grid]]\ntrace.writes = 1", "p.toml:4:16: `/t` is a file; only"),
        (
            "[base]\ntrace = \"uniform\"\nload = [\"uniform\"]\n[[grid]]\nextra = \"7%\"",
            "p.toml:3:8: give either TRACE or `--load`",
        ),
        (
            "[base]\nvolumes = \"written>=1MiB\"\nextra = \"7%\"\nseed = 3",
            "p.toml:2:11: `--volumes` chooses among the rows of `--each-volume`",
        ),
        ("[quick]\nftl = \"pgae\"", "p.toml:2:7: unknown scheme"),
        ("grid = 3", "p.toml:1:8: `grid` is not an array of tables"),
        ("[[grid]]", "p.toml:1:1: there is nothing to vary here"),
        ("[[grid]]\nseed = []", "p.toml:2:8: `seed` has no values"),
        ("[[grid]]\nseed = [1, \"y\"]", "p.toml:2:12: "),
        ("[[grid]]\nftl = [\"page\", \"pagee\"]", "p.toml:2:16: unknown scheme `pagee`"),
        ("[[grid]]\nseed = 1\nx = [{ seed = 2 }]", "p.toml:3:15: `seed` is set twice in a row"),
        ("[[grid]]\nx = [{ sed = 2 }]", "p.toml:2:8: an experiment has no key `sed`"),
        (
            "[[grid]]\n\"ftl.victim\" = \"fifo\"\nftl = [\"page\", \"block\"]",
            "p.toml:2:16: scheme block has no key `victim`",
        ),
        (
            "[[list]]\nseed = [1, 2]\nwarmup = [1, 2, 3]",
            "p.toml:2:1: `seed` has 2 values, another key of this list has 3",
        ),
    ];
    for (text, message) in cases {
        let found = wrong(text);
        assert!(found.starts_with(message), "{text}\nexpected {message}\nfound    {found}");
    }
}

#[test]
fn too_many_rows_are_refused_before_they_are_made() {
    let axis = |name: &str| format!("{name} = [{}]\n", "1, ".repeat(1000));
    let text = format!("[[grid]]\n{}{}", axis("seed"), axis("warmup"));
    assert!(wrong(&text).contains("`warmup` makes more than 100000 rows"), "{}", wrong(&text));
}

// ---- Claims -------------------------------------------------------------------------------------

const ROWS: &str = "[[grid]]\nextra = [\"7%\", \"15%\"]\nftl = [\"page:victim=fifo\", \"block\"]\n";

fn claim(body: &str) -> String {
    format!("{ROWS}[[claim]]\nid = \"c\"\nsays = \"s\"\nfigure = \"write_amplification\"\n{body}")
}

#[test]
fn a_value_is_judged_with_its_tolerance() {
    let plan = plan(&claim(
        "within = \"1%\"\nrows = [{ extra = \"0.07\", ftl.victim = \"fifo\", expected = 2 }, \
         { ftl = \"block\", expected = 4.0 }]",
    ));
    let claim = &plan.claims[0];
    assert_eq!(claim.rows().collect::<Vec<_>>(), [0, 1, 3]);
    let verdicts = claim.judge(|row| [Some(2.0199), Some(4.05), None, None][row]);
    assert_eq!(
        verdicts.iter().map(|v| v.judgement).collect::<Vec<_>>(),
        [Holds, FallsShort, Undecided]
    );
    let labels = ["extra=0.07 ftl.victim=fifo", "ftl=block extra=7%", "ftl=block extra=15%"];
    assert_eq!(verdicts.iter().map(|v| v.label.as_str()).collect::<Vec<_>>(), labels);
    assert!((verdicts[1].deviation().unwrap() - 0.0125).abs() < 1e-12);
}

#[test]
fn an_order_compares_each_row_with_the_previous_one() {
    let cells = "[{ extra = \"7%\", ftl = \"block\" }, { extra = \"15%\", ftl = \"block\" }, \
                 { extra = \"15%\", ftl.victim = \"fifo\" }]";
    let judged = |order: &str, figures: [f64; 4]| {
        let plan = plan(&claim(&format!("within = \"1%\"\n{order} = {cells}")));
        let verdicts = plan.claims[0].judge(|row| Some(figures[row]));
        verdicts.iter().map(|verdict| verdict.judgement).collect::<Vec<_>>()
    };
    // Rows 1, 3, 2, in this order.
    assert_eq!(judged("falling", [0.0, 5.0, 3.0, 4.0]), [Holds; 2]);
    assert_eq!(judged("rising", [0.0, 5.0, 3.0, 4.0]), [FallsShort; 2]);
    assert_eq!(judged("falling", [0.0, 5.0, 5.03, 5.01]), [Holds; 2], "within noise");
    assert_eq!(judged("rising", [0.0, 5.0, 7.0, 6.0]), [Holds; 2]);
}

#[test]
fn a_value_may_be_divided_by_that_of_a_row_that_differs_only_in_over() {
    let plan = plan(&claim(
        "rows = [{ ftl = \"block\", over = { ftl = \"page:victim=fifo\" }, \
         between = [0.5, 0.75] }]",
    ));
    let claim = &plan.claims[0];
    let verdicts = claim.judge(|row| [Some(4.0), Some(3.0), Some(8.0), Some(7.0)][row]);
    let found: Vec<_> = verdicts.iter().map(|v| (v.row, v.found, v.judgement)).collect();
    assert_eq!(found, [(1, Some(0.75), Holds), (3, Some(0.875), FallsShort)]);
    assert_eq!(verdicts[0].label, "ftl=block over ftl=page:victim=fifo extra=7%");
    assert_eq!(verdicts[0].deviation(), Some(0.0));
    assert_eq!(verdicts[1].deviation(), Some(0.875 / 0.75 - 1.0));
    assert_eq!(claim.rows().collect::<Vec<_>>(), [1, 0, 3, 2]);
    let infinite = claim.judge(|row| [Some(0.0), Some(3.0), None, Some(7.0)][row]);
    assert_eq!((infinite[0].found, infinite[0].judgement), (Some(f64::INFINITY), FallsShort));
    assert_eq!((infinite[1].found, infinite[1].judgement), (None, Undecided));
    let nothing = claim.judge(|_| Some(0.0));
    assert!(nothing.iter().all(|cell| cell.found.is_none() && cell.judgement == Undecided));
}

#[test]
fn the_row_of_over_has_the_same_keys_unless_there_is_one_without() {
    let grid = "[base]\ntrace = \"uniform:writes=10\"\n[[grid]]\nftl = [\"page\", \"dac\"]\n\
                \"ftl.victim\" = [\"greedy\", \"fifo\"]\n";
    let claim = "[[claim]]\nid = \"c\"\nsays = \"s\"\nfigure = \"write_amplification\"\n\
                 rows = [{ ftl = \"dac\", over = { ftl = \"page\" }, at_most = 2 }]";
    let rows = |plan: Plan| plan.claims[0].rows().collect::<Vec<_>>();
    assert_eq!(rows(plan(&format!("{grid}{claim}"))), [2, 0, 3, 1]);
    let alone = format!("{grid}[[grid]]\nftl = \"page\"\n{claim}");
    assert_eq!(rows(plan(&alone)), [2, 4, 3, 4]);
    let named = "over = { ftl = \"page\", \"ftl.victim\" = \"fifo\" }";
    let named = claim.replace("over = { ftl = \"page\" }", named);
    assert_eq!(rows(plan(&format!("{grid}{named}"))), [2, 1, 3, 1]);
    let other = claim.replace("over = { ftl = \"page\" }", "over = { ftl = \"bast\" }");
    assert!(wrong(&format!("{grid}{other}")).contains("there is no such other row"));
}

#[test]
fn undecided_cells_do_not_count() {
    let claim = &plan(&claim("rows = [{ expected = 1 }]")).claims[0];
    let judgement = |figures: [Option<f64>; 4]| claim.judgement(&claim.judge(|row| figures[row]));
    assert_eq!(judgement([Some(1.0); 4]), Holds);
    assert_eq!(judgement([Some(1.0), None, Some(1.0), None]), Holds);
    assert_eq!(judgement([Some(1.0), None, Some(2.0), Some(1.0)]), FallsShort);
    assert_eq!(judgement([None; 4]), Undecided);
}

#[test]
fn one_cell_is_enough_for_a_claim_with_any() {
    let claim = &plan(&claim("any = true\nrows = [{ expected = 1 }]")).claims[0];
    let judgement = |figures: [Option<f64>; 4]| claim.judgement(&claim.judge(|row| figures[row]));
    assert_eq!(judgement([Some(2.0), None, Some(1.0), Some(3.0)]), Holds);
    assert_eq!(judgement([Some(2.0), None, Some(4.0), Some(3.0)]), FallsShort);
    assert_eq!(judgement([None; 4]), Undecided);
}

#[test]
fn a_range_may_be_open_at_one_end() {
    let cells = "rows = [{ extra = \"7%\", at_most = 2 }, { extra = \"15%\", at_least = 2.5 }]";
    let verdicts = plan(&claim(cells)).claims[0].judge(|row| Some([2.0, 1.4, 1.0, 9.0][row]));
    let judged: Vec<_> = verdicts.iter().map(|v| (v.wanted, v.judgement)).collect();
    let most = Wanted::Between(f64::NEG_INFINITY, 2.0);
    let least = Wanted::Between(2.5, f64::INFINITY);
    let expected = [(most, Holds), (most, Holds), (least, FallsShort), (least, Holds)];
    assert_eq!(judged, expected);
}

#[test]
fn claims_that_cannot_be_judged_are_refused() {
    let cases = [
        ("figure_ = 1", "a claim has no key `figure_`; did you mean `figure`?"),
        ("", "a claim has one of `rows`, `falling` and `rising`"),
        ("rows = 3", "`rows` is not a list of tables"),
        ("rows = [{ seed = 9, expected = 1 }]", "no row has seed=9"),
        (
            "rows = [{ sed = 9, expected = 1 }]",
            "a selection of rows has no key `sed`; did you mean `seed`?",
        ),
        ("rows = [{ seed = 1, at_mots = 1 }]", "did you mean `at_most`?"),
        ("rows = [{ seed = 1, ovr = { seed = 1 }, at_most = 1 }]", "did you mean `over`?"),
        ("rows = [{ extra = \"7%\" }]", "the expected value is missing"),
        ("rows = [{ expected = \"x\" }]", "the expected value is not a number"),
        ("rows = [{ between = [2, 1] }]", "`between` takes two numbers, the lower one first"),
        ("rows = [{ expected = 1, at_most = 2 }]", "a cell has one of `expected`, `between`"),
        (
            "rows = [{ ftl = \"block\", over = { ftl = \"page\" }, at_most = 2 }]",
            "ftl=block over ftl=page: there is no such other row",
        ),
        ("rows = [{ over = 3, at_most = 2 }]", "`over` is a table of options"),
        ("statistic = \"p0\"\nrows = [{ expected = 1 }]", "`p0` is not a statistic"),
        ("per = \"programs\"\nrows = [{ expected = 1 }]", "a row has no key `programs`"),
        ("any = 1\nrows = [{ expected = 1 }]", "`any` is true or false"),
        ("where = 3\nrows = [{ expected = 1 }]", "`where` is a table of options"),
        ("within = \"x\"\nrows = [{ expected = 1 }]", "`x` is not a share"),
        (
            "falling = [{ ftl = \"block\" }]",
            "ftl=block names 2 rows; an ordered list takes one row each",
        ),
    ];
    for (body, message) in cases {
        let found = wrong(&claim(body));
        assert!(found.contains(message), "{body}\nexpected {message}\nfound    {found}");
    }
    let found = wrong(&claim("rows = []").replace("write_amp", "wirte_amp"));
    assert!(found.contains("did you mean `write_amplification`?"), "{found}");
    let found = wrong(&claim("rows = []").replace("write_amp", "xyzzy"));
    assert!(found.contains("known: sweep.…, schema, run.…, "), "{found}");
    let found = wrong("[[claim]]\nid = \"x\"");
    assert!(found.starts_with("p.toml:1:1: this claim has no `says`"), "{found}");
}

// ---- Drawings, and runs of other plans --------------------------------------------------------

/// A plan beside `a.toml` and `b.toml`.
fn beside(text: &str, scale: Scale) -> Result<Plan> {
    let read = |name: &str| match name {
        "a.toml" => {
            Ok("[base]\ntrace = \"uniform:writes=10\"\n[[grid]]\nextra = [\"7%\", \"15%\"]\n\
                        capacity = [\"64MiB\", \"128MiB\"]\n[quick]\nwarmup = 0\n[quick.instead]\n\
                        \"128MiB\" = \"8MiB\"\n\"64MiB\" = \"4MiB\""
                .to_owned())
        }
        "b.toml" => Ok("[base]\ntrace = \"uniform:writes=10\"\n[[grid]]\ncapacity = [\"64MiB\", \
                        \"256MiB\"]\nextra = \"7%\"\n[quick]\nwarmup = 0\n[quick.instead]\n\
                        \"256MiB\" = \"16MiB\"\n\"64MiB\" = \"4MiB\""
            .to_owned()),
        "nested.toml" => Ok("\nruns = \"a.toml\"".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    Plan::parse_beside("p.toml", text, scale, &read)
}

const VIEW: &str = "runs = [\"a.toml\", \"b.toml\"]\n[[claim]]\nid = \"c\"\nsays = \"s\"\n\
                    figure = \"write_amplification\"\n\
                    rows = [{ extra = \"15%\", capacity = \"128MiB\", expected = 1 }]\n\
                    [[drawing]]\nid = \"d\"\nsays = \"s\"\nfigure = \"erases.total\"\n\
                    along = \"capacity\"\nwhere = { extra = \"7%\" }";

/// For each row its capacity in MiB and its extra blocks.
fn devices(plan: &Plan) -> Vec<(u64, String)> {
    let capacity = |row: &Row| row.experiment.capacity_bytes.unwrap() >> 20;
    let extra = |row: &Row| row.experiment.extra.unwrap().to_string();
    plan.rows.iter().map(|row| (capacity(row), extra(row))).collect()
}

#[test]
fn needed_rows_of_other_plans_are_taken_once() {
    let plan = beside(VIEW, Scale::Full).unwrap();
    let seven = |mebibytes| (mebibytes, "7%".to_owned());
    assert_eq!(devices(&plan), [seven(64), seven(128), (128, "15%".to_owned()), seven(256)]);
    assert_eq!(plan.claims[0].rows().collect::<Vec<_>>(), [2]);
    assert_eq!(plan.drawings[0].rows().collect::<Vec<_>>(), [0, 1, 3]);
    let cells = plan.drawings[0].cells(|row| Some(row as f64));
    let labels: Vec<&str> = cells.iter().map(|cell| cell.label).collect();
    assert_eq!(labels, ["capacity=64MiB", "capacity=128MiB", "capacity=256MiB"]);
    assert_eq!(plan.drawings[0].common, "extra=7%");
    let alone = VIEW.replace("{ extra = \"7%\" }", "{ extra = \"7%\", capacity = \"64MiB\" }");
    let plan = beside(&alone, Scale::Quick).unwrap();
    assert_eq!(plan.drawings[0].cells(|_| None)[0].label, "extra=7% capacity=4MiB");
    assert_eq!(cells[2].found, Some(3.0));
}

#[test]
fn what_the_only_selection_of_a_drawing_says_is_common_to_its_rows() {
    let drawing = |rows: &str| {
        let drawn = "[[drawing]]\nid = \"d\"\nsays = \"s\"\nfigure = \"erases.total\"";
        plan(&format!("{ROWS}{drawn}\nwhere = {{ seed = 1 }}\nrows = [{rows}]")).drawings.remove(0)
    };
    let labels = |drawing: &Drawing| -> Vec<String> {
        drawing.cells(|_| None).iter().map(|cell| cell.label.to_owned()).collect()
    };
    let one = drawing("{ ftl = \"block\" }");
    assert_eq!(
        (one.common.as_str(), labels(&one)),
        ("seed=1 ftl=block", ["extra=7%", "extra=15%"].map(str::to_owned).to_vec())
    );
    let two = drawing("{ ftl = \"block\" }, { ftl.victim = \"fifo\", extra = \"7%\" }");
    assert_eq!(two.common, "seed=1");
    assert_eq!(labels(&two)[1..], ["ftl=block extra=15%", "ftl.victim=fifo extra=7%"]);
}

#[test]
fn each_other_plan_has_its_own_quick_scale() {
    let plan = beside(VIEW, Scale::Quick).unwrap();
    let capacities: Vec<u64> = devices(&plan).into_iter().map(|(capacity, _)| capacity).collect();
    assert_eq!(capacities, [4, 8, 8, 16]);
    assert!(plan.rows.iter().all(|row| row.experiment.warmup == 0));
    let cells = plan.drawings[0].cells(|_| None);
    assert_eq!(cells[2].label, "capacity=16MiB");
}

#[test]
fn plans_without_usable_rows_are_refused() {
    let cases = [
        ("runs = \"c.toml\"", "p.toml:1:8: cannot read plan c.toml: no such file"),
        ("runs = 3", "p.toml:1:8: a plan is named by a text"),
        (
            "runs = \"nested.toml\"",
            "nested.toml:2:8: this plan takes its runs from other plans; name those instead",
        ),
        ("runs = \"a.toml\"\n[base]\nseed = 1", "`runs` and `base` exclude each other"),
    ];
    for (text, message) in cases {
        let found = beside(text, Scale::Full).unwrap_err().to_string();
        assert!(found.contains(message), "{text}\nexpected {message}\nfound    {found}");
    }
    assert!(wrong("runs = \"a.toml\"").contains("there is no other plan here"));
    assert!(wrong("[base]\nload = []").contains("`load` is an empty list"));
}

const TRACES: &str = r#"
    [base]
    capacity = "64MiB"
    [[grid]]
    trace = ["uniform:writes=4K", "disk.trace"]
    ftl = ["page", "fast"]
    chip = ["slc-fast2010", "slc-k9wag", "slc-fast2010:page=4KiB"]
    [[grid]]
    trace = ["uniform:writes=4K", "disk.trace"]
    capacity = "128MiB"
    [quick]
    capacity = "4MiB"
    [quick.instead]
    "disk.trace" = "zipf:writes=1K""#;

#[test]
fn a_trace_is_drawn_once_without_running_its_rows() {
    let view = "runs = \"traces.toml\"\n[[drawing]]\nid = \"d\"\nsays = \"s\"\n\
                draws = \"access pattern\"";
    let read = |_: &str| Ok(TRACES.to_owned());
    let labels = |scale| {
        let plan =
            Plan::parse_beside("p", view, scale, &read).unwrap().with_traces_in("/d".as_ref());
        assert_eq!(plan.rows.len(), 0);
        assert_eq!(plan.drawings[0].rows().count(), 0);
        let drawn = plan.drawings[0].traces.iter();
        let drawn = drawn.map(|drawn| (drawn.label.clone(), drawn.experiment.trace.clone()));
        drawn.collect::<Vec<_>>()
    };
    let [uniform, disk] = ["uniform:writes=4K", "/d/disk.trace"].map(|word| Some(word.to_owned()));
    let label = |text: &str| text.to_owned();
    let wanted = [
        (label("uniform:writes=4K capacity=64MiB page=2KiB"), uniform.clone()),
        (label("uniform:writes=4K capacity=64MiB page=4KiB"), uniform.clone()),
        (label("disk.trace page=2KiB"), disk.clone()),
        (label("disk.trace page=4KiB"), disk),
        (label("uniform:writes=4K capacity=128MiB page=2KiB"), uniform),
    ];
    assert_eq!(labels(Scale::Full), wanted);
    let quick = labels(Scale::Quick);
    assert_eq!(quick[2].0, "zipf:writes=1K capacity=4MiB page=2KiB");
}

#[test]
fn the_trace_of_each_load_is_drawn_if_its_capacity_is_known() {
    let drawn = |base: &str| {
        let text = format!(
            "[base]\nload = [\"disk.csv@open\", \"oltp\", \"disk.csv\"]\n{base}\n[[drawing]]\n\
             id = \"d\"\nsays = \"s\"\ndraws = \"access pattern\""
        );
        let plan = plan(&text);
        plan.drawings[0].traces.iter().map(|drawn| drawn.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(drawn(""), ["disk.csv", "oltp"]);
    assert_eq!(drawn("capacity = \"1GiB\"\nshared = true"), ["disk.csv", "oltp"]);
    assert_eq!(drawn("capacity = \"1GiB\""), ["disk.csv"]);
}

#[test]
fn rows_are_found_by_the_options_that_name_them() {
    let found = |grids: &str, selection: &str| -> usize {
        let drawn = "[[drawing]]\nid = \"d\"\nsays = \"s\"\nfigure = \"erases.total\"";
        plan(&format!("{grids}{drawn}\nwhere = {{ {selection} }}")).drawings[0].rows().count()
    };
    let keys = "[[grid]]\nftl = [\"page\", \"dac\"]\n\"ftl.victim\" = [\"greedy\", \"fifo\"]\n";
    assert_eq!(found(keys, "ftl = \"dac\""), 2);
    assert_eq!(found(keys, "ftl = \"dac\", \"ftl.victim\" = \"fifo\""), 1);
    assert_eq!(found(keys, "ftl = \"dac:victim=fifo\""), 1);
    let both = format!("{keys}[[list]]\nftl = \"dac\"\n");
    assert_eq!(found(&both, "ftl = \"dac\""), 3);
    let base = "[base]\nreplay = \"closed\"\n[[grid]]\nreplay.depth = [1, 8]\n";
    assert_eq!(found(base, "replay = \"closed\""), 2);
    assert_eq!(found(base, "replay = \"closed:depth=8\""), 1);
    // A depth of 1 is the default, so `closed` is all that is left of it.
    for depth in [1, 8] {
        assert_eq!(found(base, &format!("replay.depth = {depth}")), 1);
    }
    let speeds = "[base]\nreplay = \"open\"\n[[grid]]\nreplay.speed = [1, 50]\n";
    assert_eq!(found(speeds, "replay.speed = 1"), 1);
    let whole = "[[grid]]\nftl = [\"page\", \"page:victim=fifo\"]\n";
    assert_eq!(found(whole, "ftl = \"page\""), 1, "the other one is named differently");
}

#[test]
fn rows_without_what_a_drawing_shows_are_refused() {
    let drawing = |base: &str, draws: &str| {
        let drawn = format!("[[drawing]]\nid = \"d\"\nsays = \"s\"\ndraws = \"{draws}\"");
        format!("[base]\n{base}\n[[grid]]\nseed = [1, 2]\n{drawn}")
    };
    let (drive, depth) = ("timing = \"drive\"", "replay = \"closed:depth=2\"");
    for (draws, base, lack) in [
        ("write amplification", "interval = 9", "an `interval`"),
        ("responses over time", "timing = \"drive\"\ninterval = 9", "`timing = \"drive\"`"),
        ("utilisation of dies and channels", drive, "`timing = \"drive\"`"),
        ("response times of reads", depth, "a `replay` with waiting, or `timing = \"drive\"`"),
        ("response times of reads", "load = [\"oltp\", \"skew\"]", "a `replay` with waiting"),
        ("utilisation of victims", "ftl = \"lsb:blocks=4\"", "`ftl = \"superblock\"` or `\"lsb\"`"),
    ] {
        plan(&drawing(base, draws));
        let refused = wrong(&drawing("", draws));
        let says = format!("p.toml:8:9: this drawing needs {lack}");
        assert!(refused.starts_with(&says), "{refused}");
        assert!(refused.contains("which the row seed=1 does not have; select"), "{refused}");
    }
}

#[test]
fn claims_and_drawings_cannot_select_rows_of_a_fleet() {
    let fleet = "[base]\ntrace = \"t.csv\"\neach_volume = true\n";
    let rows = "rows = [{ volume = \"7\", expected = 1 }]";
    for selection in [
        format!("[[claim]]\nid = \"A\"\nsays = \"b\"\nfigure = \"write_amplification\"\n{rows}"),
        "[[drawing]]\nid = \"A\"\nsays = \"b\"\nfigure = \"erases.total\"".to_owned(),
    ] {
        let refused = wrong(&format!("{fleet}{selection}"));
        assert!(refused.starts_with("p.toml:4:1: a plan with `each_volume` has no"), "{refused}");
    }
}

#[test]
fn a_key_of_an_option_that_is_given_whole_needs_quotes() {
    let refused = wrong("[base]\ntrace = \"uniform\"\ntrace.writes = 4");
    assert!(refused.starts_with("p.toml:3:"), "{refused}");
    assert!(refused.ends_with("put the longer key in quotes, as in `\"ftl.victim\" = \"fifo\"`"));
}

#[test]
fn drawings_that_cannot_be_drawn_are_refused() {
    let drawing = |body: &str| format!("{ROWS}[[drawing]]\nid = \"d\"\nsays = \"s\"\n{body}");
    let cases = [
        ("", "this drawing has no `figure`"),
        ("draws = \"wear\"\nfigure = \"erases.total\"", "`draws` and `figure` exclude each other"),
        ("draws = \"waer\"", "`waer`; did you mean `wear`"),
        ("draws = \"acess pattern\"", "did you mean `access pattern`"),
        ("draws = \"request sizes\"\neach = \"trace\"", "`draws` and `each` exclude each other"),
        ("figure = \"erases.total\"\nalong = \"seed\"", "no grid and no list sets `seed`"),
        ("figure = \"erases.total\"\nrows = [{ seed = 9 }]", "no row has seed=9"),
        ("figure = \"erases.total\"\nrows = 3", "`rows` is not a list of tables"),
        ("figure = \"erases.total\"\nover = 3", "a drawing has no key `over`"),
    ];
    for (body, message) in cases {
        let found = wrong(&drawing(body));
        assert!(found.contains(message), "{body}\nexpected {message}\nfound    {found}");
    }
}

#[test]
fn the_union_of_plans_has_each_row_once() {
    let [first, second] = ["a.toml", "b.toml"].map(|name| {
        beside(
            &VIEW
                .replace("\"a.toml\", \"b.toml\"", &format!("{name:?}"))
                .replace("15%", "7%")
                .replace("128MiB", "64MiB"),
            Scale::Full,
        )
        .unwrap()
    });
    let (all, places) = Plan::union([&first, &second]);
    assert_eq!(all.rows.len(), 3);
    assert_eq!(places, [vec![0, 1], vec![0, 2]]);
}
