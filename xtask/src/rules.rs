//! The test of the tests: each rule of the machine is taken out in turn, and the tests must notice.
//!
//! A copy of the core and of the model world is built once with all patches in it, each asleep. One at a time is woken by its name.

mod listed;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bridge_control_plane::process::{Output, Spawn};
use serde_json::{Value, json};

use crate::Failure;
use crate::project::Project;
use crate::report::Report;
use crate::run::{cargo, status};
use listed::Rule;

const LIST: &str = "tests/sim/rules/rules.txt";
const CORE: &str = "runtime-bridge/core";
/// What the core depends on of ours.
const TYPES: &str = "proto/types";
const MODEL: &str = "tests/sim/tests/model";
/// A rule that is out may let a test run for ever.
const LONGEST: Duration = Duration::from_mins(10);

/// Which rule is out, for the copy.
const TAKEN_OUT: &str = r#"
/// Is this rule out?
pub fn taken_out(rule: &str) -> bool {
    static OUT: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    OUT.get_or_init(|| std::env::var("RULE_TAKEN_OUT").unwrap_or_default()) == rule
}
"#;

const MANIFEST: &str = r#"[package]
name = "rules"
edition.workspace = true
version.workspace = true

[lib]
path = "lib.rs"

[[test]]
name = "model"
path = "tests/model/main.rs"

[dev-dependencies]
bridge-core.workspace = true
jiff.workspace = true
serde_json.workspace = true
"#;

type Way = (&'static str, &'static [&'static str]);

/// Where to look for a violation, in this order, by the arguments of the test program.
const WAYS: [Way; 4] = [
    ("traces", &["trace_"]),
    (
        "scenarios",
        &["--skip", "trace_", "--skip", "explore::", "--skip", "random::"],
    ),
    ("explorer", &["explore::"]),
    ("seeds", &["random::"]),
];

/// What is asked for.
#[derive(Debug, clap::Args)]
pub(crate) struct Rules {
    /// Only rules whose name contains this.
    #[arg(long)]
    rule: Option<String>,
    /// Go on after the first way that finds it.
    #[arg(long)]
    thorough: bool,
    /// Try only the first so many ways of: traces, scenarios, explorer, seeds. The last two take long where nothing is found.
    #[arg(long, default_value_t = WAYS.len())]
    ways: usize,
    /// List the rules and end.
    #[arg(long)]
    list: bool,
}

/// Which tests noticed.
struct Noticed {
    rule: Rule,
    by: Vec<(&'static str, Vec<String>)>,
}

/// By the ways that take seconds.
const QUICK: usize = 2;

pub(crate) async fn run(asked: &Rules) -> Result<(), Failure> {
    let project = Project::find().await?;
    let mut rules = listed::read(&read(&project.root.join(LIST))?)?;
    rules.retain(|rule| asked.rule.as_ref().is_none_or(|part| rule.name.contains(part)));
    if asked.list {
        for rule in &rules {
            println!("{} (closes {})", rule.name, rule.closes);
        }
        return Ok(());
    }
    let ways = &WAYS[..asked.ways.min(WAYS.len())];
    let noticed = take_out_each(&project, &Report::new(), &rules, ways, asked.thorough).await?;
    if asked.rule.is_none() {
        leave_behind(&project, &noticed)?;
    }
    conclude(&noticed)
}

/// Takes out every rule.
pub(crate) async fn run_all(project: &Project, report: &Report) -> Result<(), Failure> {
    let rules = listed::read(&read(&project.root.join(LIST))?)?;
    let noticed = take_out_each(project, report, &rules, &WAYS[..QUICK], false).await?;
    leave_behind(project, &noticed)?;
    conclude(&noticed)
}

/// `rules.json`, for the numbers of docs/reliability.md.
fn leave_behind(project: &Project, noticed: &[Noticed]) -> Result<(), Failure> {
    let missed = noticed.iter().filter(|one| !one.by.is_empty()).count();
    let result = json!({ "out": noticed.len(), "missed": missed }).to_string();
    write(&project.results()?.join("rules.json"), &result)
}

async fn take_out_each(
    project: &Project,
    report: &Report,
    rules: &[Rule],
    ways: &[Way],
    thorough: bool,
) -> Result<Vec<Noticed>, Failure> {
    let mut noticed = Vec::new();
    let rounds = listed::rounds(rules);
    let scratch = project.scratch("rules");
    let copy = |number: usize| scratch.join(format!("copy-{number}"));
    // All at once, so that all are of one state of the project.
    for (number, round) in rounds.iter().enumerate() {
        make_copy(&project.root, &copy(number), round)?;
    }
    for (number, round) in rounds.into_iter().enumerate() {
        let copy = copy(number);
        let tests = report.step(&format!("build copy {number}"), build(&copy)).await?;
        let sound = try_out(&tests, "", WAYS[0].1).await?;
        if !sound.is_empty() {
            return Err(Failure::new(format!(
                "with all rules in force these fail: {}",
                sound.join(", ")
            )));
        }
        for rule in round {
            noticed.push(take_out(report, &tests, rule, ways, thorough).await?);
        }
    }
    Ok(noticed)
}

async fn take_out(
    report: &Report,
    tests: &Path,
    rule: Rule,
    ways: &[Way],
    thorough: bool,
) -> Result<Noticed, Failure> {
    let mut by = Vec::new();
    for (way, arguments) in ways {
        let failed = try_out(tests, &rule.name, arguments).await?;
        if !failed.is_empty() {
            by.push((*way, failed));
            if !thorough {
                break;
            }
        }
    }
    let ways: Vec<&str> = by.iter().map(|(way, _)| *way).collect();
    report.say(&format!(
        "{}: {}",
        rule.name,
        if ways.is_empty() {
            "NOBODY".to_owned()
        } else {
            ways.join(", ")
        }
    ));
    Ok(Noticed { rule, by })
}

fn conclude(noticed: &[Noticed]) -> Result<(), Failure> {
    println!("| rule | closes | found by |\n|---|---|---|");
    for Noticed { rule, by } in noticed {
        let found: Vec<String> = by
            .iter()
            .map(|(way, tests)| match tests.as_slice() {
                [one] => format!("{way}: {one}"),
                [first, rest @ ..] => format!("{way}: {first} and {} more", rest.len()),
                [] => (*way).to_owned(),
            })
            .collect();
        println!("| {} | {} | {} |", rule.name, rule.closes, found.join("; "));
    }
    let missed: Vec<&str> = noticed
        .iter()
        .filter(|one| one.by.is_empty())
        .map(|one| one.rule.name.as_str())
        .collect();
    let deaf: Vec<String> = noticed
        .iter()
        .filter(|one| !one.by.is_empty())
        .flat_map(|one| {
            let failed: Vec<String> = one.by.iter().flat_map(|(_, tests)| tests.clone()).collect();
            let traces = one.rule.deaf_traces(&failed);
            traces
                .into_iter()
                .map(|number| format!("{number} ({})", one.rule.name))
        })
        .collect();
    if missed.is_empty() && deaf.is_empty() {
        return Ok(());
    }
    if missed.is_empty() {
        return Err(Failure::new(format!(
            "these traces are told to be closed by a rule that their own tests do not miss: {}",
            deaf.join("; ")
        )));
    }
    Err(Failure::new(format!(
        "nobody misses these rules, so that they are not needed or not tested: {}",
        missed.join("; ")
    )))
}

/// The core and the model world, with the rules of this round asleep in them.
fn make_copy(root: &Path, copy: &Path, round: &[Rule]) -> Result<(), Failure> {
    for folder in [CORE, TYPES, MODEL] {
        let to = copy.join(folder);
        if to.exists() {
            fs::remove_dir_all(&to).map_err(|error| failed(&to, &error))?;
        }
        copy_folder(&root.join(folder), &to)?;
    }
    for rule in round {
        let file = copy.join(&rule.file);
        write(&file, &rule.patch(&read(&file)?)?)?;
    }
    for file in [
        copy.join(CORE).join("src/lib.rs"),
        copy.join(MODEL).join("main.rs"),
    ] {
        write(&file, &(read(&file)? + TAKEN_OUT))?;
    }
    let workspace = read(&root.join("Cargo.toml"))?;
    let Some((_, settings)) = workspace.split_once("[workspace.package]") else {
        return Err(Failure::new("Cargo.toml has no [workspace.package]"));
    };
    let members = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [\"{CORE}\", \"{TYPES}\", \"tests/sim\"]\n\n[workspace.package]"
    );
    let settings = settings.replace("[profile.dev.package.bridge-sim]", "[profile.dev.package.rules]");
    write(&copy.join("Cargo.toml"), &(members + &settings))?;
    write(&copy.join("Cargo.lock"), &read(&root.join("Cargo.lock"))?)?;
    write(&copy.join("tests/sim/Cargo.toml"), MANIFEST)?;
    write(&copy.join("tests/sim/lib.rs"), "//! Nothing but tests.\n")
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to).map_err(|error| failed(to, &error))?;
    for entry in fs::read_dir(from).map_err(|error| failed(from, &error))? {
        let path = entry.map_err(|error| failed(from, &error))?.path();
        let name = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_folder(&path, &name)?;
        } else {
            fs::copy(&path, &name).map_err(|error| failed(&name, &error))?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| failed(file, &error))
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|error| failed(file, &error))
}

fn failed(file: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {error}", file.display()))
}

/// The test program.
async fn build(copy: &Path) -> Result<PathBuf, Failure> {
    let program = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&program);
    let build = cargo(copy)
        // Of its own: cargo would take one copy's packages for the other's.
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .args([
            "test",
            "-p",
            "rules",
            "--test",
            "model",
            "--no-run",
            "--message-format=json-render-diagnostics",
        ])
        .stdout(Output::lines(move |line| {
            let message: Option<Value> = serde_json::from_str(line).ok();
            let path = message.and_then(|message| message["executable"].as_str().map(PathBuf::from));
            if path.is_some() {
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = path;
            }
        }));
    let built = status(build).await?.success();
    let program = program.lock().unwrap_or_else(PoisonError::into_inner).take();
    match program {
        Some(program) if built => Ok(program),
        _ => Err(Failure::new("the copy does not build")),
    }
}

/// The tests that fail while the rule is out.
async fn try_out(tests: &Path, rule: &str, arguments: &[&str]) -> Result<Vec<String>, Failure> {
    let failed = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&failed);
    let program = Spawn::new(tests)
        .args(arguments)
        .env("RULE_TAKEN_OUT", rule)
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
