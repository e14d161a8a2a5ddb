//! The test of the tests: each rule of the machine is switched off in turn, and the tests must notice.
//!
//! The table of rules and the switch are the core's (`runtime-bridge/core/src/rule`); one build of the model's tests holds all switches.

#[allow(dead_code, reason = "the core uses the rest of it")]
#[path = "../../runtime-bridge/core/src/rule/table.rs"]
mod table;

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bridge_control_plane::process::{Output, Spawn};
use serde_json::json;

use crate::Failure;
use crate::build::build_test;
use crate::project::Project;
use crate::report::Report;
use crate::run::{status, without_cargo};
use crate::test::{MODEL_TESTS, TestProgram, programs};
use table::{Case, Rule, SWITCH};

/// Without a rule a test may run for ever.
const LONGEST: Duration = Duration::from_mins(10);

type Way = (&'static str, &'static [&'static str]);

/// Where a violation is searched for, in this order, by the arguments of the test program.
const WAYS: [Way; 4] = [
    ("traces", &["trace_"]),
    (
        "scenarios",
        &["--skip", "trace_", "--skip", "explore::", "--skip", "random::"],
    ),
    ("explorer", &["explore::"]),
    ("seeds", &["random::"]),
];

/// The way that is tried before all others: the tests of what the rule closes.
const OWN: &str = "its own tests";

/// Those that take seconds.
const QUICK: usize = 2;

/// Which rules are switched off, and which tests must notice.
#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    /// Only rules whose name or sentence contains this.
    #[arg(long)]
    rule: Option<String>,
    /// Go on when the tests of all that it closes have noticed.
    #[arg(long)]
    thorough: bool,
    /// After the tests of what a rule closes, try only the first so many ways of: traces, scenarios, explorer, seeds. The last two take long where nothing is found.
    #[arg(long, default_value_t = WAYS.len())]
    ways: usize,
    /// List the rules and end.
    #[arg(long)]
    list: bool,
}

/// Which tests failed without a rule, by the way that found them.
struct Noticed {
    rule: Rule,
    by: Vec<(&'static str, Vec<String>)>,
}

impl Noticed {
    /// The cases that the rule closes and whose own tests do not miss it.
    fn unnoticed_cases(&self) -> Vec<String> {
        let failed = || self.by.iter().flat_map(|(_, tests)| tests);
        let closes = self.rule.closes().iter();
        closes
            .filter(|case| !failed().any(|test| is_of(**case, test)))
            .map(|case| format!("{} ({})", title(*case), self.rule.name()))
            .collect()
    }
}

/// The test is of the trace by its name, `…::trace_07_what_holds` or `…::trace_07::what_holds`, or stands in the module.
fn is_of(case: Case, test: &str) -> bool {
    match case {
        Case::Trace(number) => {
            let trace = format!("trace_{number:02}");
            let mut parts = test.split("::");
            parts.any(|part| {
                part.strip_prefix(&trace)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
            })
        }
        Case::Module(module) => test.split("::").any(|part| part == module),
    }
}

fn title(case: Case) -> String {
    match case {
        Case::Trace(number) => number.to_string(),
        Case::Module(module) => module.to_owned(),
    }
}

/// Arguments of the test program for the tests of what a rule closes: of those that take seconds, which are run with all rules in force first.
fn own_tests(rule: Rule) -> Vec<String> {
    let filter = |case: &Case| match case {
        Case::Trace(number) => format!("trace_{number:02}"),
        Case::Module(module) => format!("{module}::"),
    };
    let mut arguments: Vec<String> = rule.closes().iter().map(filter).collect();
    if !arguments.is_empty() {
        arguments.extend(["--skip", "explore::", "--skip", "random::"].map(str::to_owned));
    }
    arguments
}

fn closes(rule: Rule) -> String {
    let titles: Vec<String> = rule.closes().iter().map(|case| title(*case)).collect();
    titles.join(", ")
}

pub(crate) async fn run(asked: &Rules) -> Result<(), Failure> {
    let is_asked = |rule: &&Rule| {
        let part = asked.rule.as_deref().unwrap_or_default();
        rule.name().contains(part) || rule.sentence().contains(part)
    };
    let rules: Vec<Rule> = Rule::ALL.iter().filter(is_asked).copied().collect();
    if asked.list {
        for rule in rules {
            println!("{}: {} (closes {})", rule.name(), rule.sentence(), closes(rule));
        }
        return Ok(());
    }
    let project = Project::find().await?;
    let ways = &WAYS[..asked.ways.min(WAYS.len())];
    let noticed = switch_off_each(&project, &Report::new(), &rules, ways, asked.thorough).await?;
    if asked.rule.is_none() {
        write_result(&project, &noticed)?;
    }
    conclude(&noticed)
}

/// Switches off every rule, and runs the tests that take seconds.
pub(crate) async fn run_all(project: &Project, report: &Report) -> Result<(), Failure> {
    let noticed = switch_off_each(project, report, Rule::ALL, &WAYS[..QUICK], false).await?;
    write_result(project, &noticed)?;
    conclude(&noticed)
}

/// `rules.json`, for the numbers of docs/reliability.md.
fn write_result(project: &Project, noticed: &[Noticed]) -> Result<(), Failure> {
    let missed = noticed.iter().filter(|one| !one.by.is_empty()).count();
    let result = json!({ "out": noticed.len(), "missed": missed }).to_string();
    let file = project.results()?.join("rules.json");
    fs::write(&file, result)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

async fn switch_off_each(
    project: &Project,
    report: &Report,
    rules: &[Rule],
    ways: &[Way],
    thorough: bool,
) -> Result<Vec<Noticed>, Failure> {
    let built = report
        .step("build the model's tests", build_test(&project.root, "model"))
        .await?;
    let tests = programs(&built.messages)
        .into_iter()
        .find(|program| program.name() == MODEL_TESTS)
        .ok_or_else(|| Failure::new(format!("{MODEL_TESTS} is not built")))?;
    for (way, arguments) in &WAYS[..QUICK] {
        let failed = failures(&tests, None, arguments).await?;
        if !failed.is_empty() {
            return Err(Failure::new(format!(
                "with all rules in force these {way} fail: {}",
                failed.join(", ")
            )));
        }
    }
    let mut noticed = Vec::new();
    for rule in rules {
        noticed.push(switch_off(report, &tests, *rule, ways, thorough).await?);
    }
    Ok(noticed)
}

async fn switch_off(
    report: &Report,
    tests: &TestProgram,
    rule: Rule,
    ways: &[Way],
    thorough: bool,
) -> Result<Noticed, Failure> {
    let mut noticed = Noticed { rule, by: Vec::new() };
    // Its own tests first: where each of them notices, nothing else need be run.
    let own = own_tests(rule);
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    let first = (!own.is_empty()).then_some((OWN, own.as_slice()));
    for (way, arguments) in first.into_iter().chain(ways.iter().copied()) {
        let failed = failures(tests, Some(rule), arguments).await?;
        if !failed.is_empty() {
            noticed.by.push((way, failed));
            if !thorough && noticed.unnoticed_cases().is_empty() {
                break;
            }
        }
    }
    let ways: Vec<&str> = noticed.by.iter().map(|(way, _)| *way).collect();
    let ways = if ways.is_empty() {
        "NO TEST".to_owned()
    } else {
        ways.join(", ")
    };
    report.say(&format!("{}: {ways}", rule.name()));
    Ok(noticed)
}

fn conclude(noticed: &[Noticed]) -> Result<(), Failure> {
    println!("| rule | closes | noticed by |\n|---|---|---|");
    for Noticed { rule, by } in noticed {
        let tests: Vec<String> = by
            .iter()
            .map(|(way, tests)| match tests.as_slice() {
                [one] => format!("{way}: {one}"),
                [first, rest @ ..] => format!("{way}: {first} and {} more", rest.len()),
                [] => (*way).to_owned(),
            })
            .collect();
        println!(
            "| {} | {} | {} |",
            rule.sentence(),
            closes(*rule),
            tests.join("; ")
        );
    }
    let (found, missed): (Vec<&Noticed>, Vec<&Noticed>) = noticed.iter().partition(|one| !one.by.is_empty());
    if !missed.is_empty() {
        let missed: Vec<&str> = missed.iter().map(|one| one.rule.name()).collect();
        return Err(Failure::new(format!(
            "no test notices that these rules are off, so that they are not needed or not tested: {}",
            missed.join(", ")
        )));
    }
    let cases: Vec<String> = found.iter().flat_map(|one| one.unnoticed_cases()).collect();
    if cases.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "these are closed by a rule that their own tests do not miss: {}",
        cases.join("; ")
    )))
}

/// The tests that fail while the rule is off.
async fn failures(
    tests: &TestProgram,
    rule: Option<Rule>,
    arguments: &[&str],
) -> Result<Vec<String>, Failure> {
    let failed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&failed);
    let program = without_cargo(Spawn::new(&tests.executable))
        .args(arguments)
        .current_dir(&tests.folder)
        .env("CARGO_MANIFEST_DIR", &tests.folder)
        .env(SWITCH, rule.map_or("", Rule::name))
        .env("RUST_BACKTRACE", "0")
        .stdout(Output::lines(move |line| {
            let name = line
                .strip_prefix("test ")
                .and_then(|line| line.strip_suffix(" ... FAILED"));
            if let Some(name) = name {
                let mut failed = seen.lock().unwrap_or_else(PoisonError::into_inner);
                failed.push(name.to_owned());
            }
        }))
        .stderr(Output::Null);
    let ended = tokio::time::timeout(LONGEST, status(program)).await;
    let mut failed = std::mem::take(&mut *failed.lock().unwrap_or_else(PoisonError::into_inner));
    match ended {
        Err(_) => failed.push("(does not end)".to_owned()),
        Ok(status) => {
            if !status?.success() && failed.is_empty() {
                failed.push("(ends badly)".to_owned());
            }
        }
    }
    Ok(failed)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_trace_is_noticed_by_tests_of_its_number() {
        let noticed = |tests: &[&str]| Noticed {
            rule: Rule::NothingSentAfterDeadline,
            by: vec![("traces", tests.iter().map(|test| (*test).to_owned()).collect())],
        };
        assert_eq!(
            noticed(&["traces::create::trace_01_a_late_create", "writes::trace_130"]).unnoticed_cases(),
            ["13 (NothingSentAfterDeadline)"]
        );
        let both = noticed(&["traces::trace_01::a_late_create", "trace_13_a_late_delete"]);
        assert!(both.unnoticed_cases().is_empty());
        assert_eq!(
            own_tests(Rule::NothingSentAfterDeadline),
            [
                "trace_01",
                "trace_13",
                "--skip",
                "explore::",
                "--skip",
                "random::"
            ]
        );
        assert!(is_of(
            Case::Module("policies"),
            "policies::a_policy_without_create"
        ));
        assert!(!is_of(Case::Module("policies"), "traces::policies_of_a_restart"));
    }

    /// `Rule::Name` wherever one stands in the sources of this folder.
    fn switches(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                switches(&path, names);
            } else {
                let source = fs::read_to_string(&path).unwrap();
                let uses = source.split("Rule::").skip(1);
                names.extend(uses.filter_map(|rest| Some(rest.split_once(".is_off()")?.0.to_owned())));
            }
        }
    }

    #[test]
    fn every_rule_has_a_switch() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut names = BTreeSet::new();
        for folder in [
            "runtime-bridge/core/src/claim",
            "runtime-bridge/core/src/composite",
            "runtime-bridge/core/src/definition",
            "runtime-bridge/core/src/driver",
            "runtime-bridge/core/src/managed",
            "runtime-bridge/core/src/protection",
            "tests/sim/tests/model",
        ] {
            switches(&root.join(folder), &mut names);
        }
        let without: Vec<&str> = Rule::ALL
            .iter()
            .map(|rule| rule.name())
            .filter(|name| !names.contains(*name))
            .collect();
        assert!(
            without.is_empty(),
            "no code asks whether these rules are off: {without:?}"
        );
    }
}
