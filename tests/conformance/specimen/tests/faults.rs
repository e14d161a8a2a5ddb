//! The kit against a plugin that breaks one rule at a time: exactly that assertion fails. And against the same plugin as it should be.

use std::{collections::BTreeSet, path::Path};

use clap::Parser;
use futures::{StreamExt, stream};
use provider_conformance::{Assertion, Finding, Level, Progress, Report, Verdict, assertions, cli::Cli};
use tempfile::TempDir;

/// Runs at the same time: most of each is waiting.
const AT_ONCE: usize = 6;

struct Silent;

impl Progress for Silent {
    fn begins(&self, _: &str) {}
    fn subject(&self, _: &str, _: &[Finding]) {}
}

/// Runs the kit against the specimen with this fault; empty: none.
async fn run(fault: &str, more: &[&str]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = command_line(&folder, fault)
        .into_iter()
        .chain(more.iter().map(|argument| (*argument).to_owned()));
    let run = Cli::parse_from(arguments).run().expect("a good command line");
    run.tell(&Silent).await.expect("the plugin starts");
    run.finish().await
}

fn command_line(folder: &TempDir, fault: &str) -> Vec<String> {
    let place = |name: &str| -> String {
        let path = folder.path().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        path.display().to_string()
    };
    let (own, other) = (place("own"), place("other"));
    let nowhere = folder.path().join("nowhere").display().to_string();
    let plugin = format!("{} --fault '{fault}'", env!("CARGO_BIN_EXE_conformance-specimen"));
    vec![
        "provider-conformance".to_owned(),
        format!("--plugin-command={plugin}"),
        format!("--next-plugin-command={plugin} --build 2"),
        format!("--setting=folder={own}"),
        "--credential=key=sesame-open-wide".to_owned(),
        format!("--other-setting=folder={other}"),
        format!("--dead-setting=folder={nowhere}"),
        format!("--fault-cmd={}", fault_hook(Path::new(&own))),
        "--patience=4".to_owned(),
    ]
}

/// A file tells the specimen's cloud how to be.
fn fault_hook(own: &Path) -> String {
    let own = own.display();
    format!(
        "case $1 in \
            upstream-down) touch {own}/down;; upstream-up) rm {own}/down;; \
            throttle) touch {own}/throttled;; throttle-off) rm {own}/throttled;; \
        esac"
    )
}

fn failed(report: &Report) -> BTreeSet<&'static str> {
    report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::Failed(_)))
        .map(|finding| finding.assertion.id)
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_good_specimen_passes_everything() {
    let report = run("", &[]).await;
    let wrong: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::Failed(_) | Verdict::Blocked(_)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(report.left_behind, Vec::<String>::new());
    let passed: BTreeSet<_> = report
        .findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Passed)
        .map(|finding| finding.assertion.id)
        .collect();
    let never: Vec<_> = assertions()
        .into_iter()
        .map(|assertion| assertion.id)
        .filter(|id| !passed.contains(id))
        .collect();
    assert!(never.is_empty(), "these were never judged: {never:?}");
}

/// The kinds in which a fault shows. The others would only take time.
fn kinds(id: &str) -> &'static str {
    match id {
        "examples/valid"
        | "examples/requirements-exist"
        | "examples/secrets-beside-documents"
        | "kinds/well-formed"
        | "kinds/schemas-structural"
        | "observe/absent-says-derived-name" => "Note,Record",
        "create/completes" | "answers/well-formed" | "calls/impossible-unimplemented" => "Draw,Note",
        "observe/unknown-marker-is-absent"
        | "observe/found-without-name"
        | "observe/wish-comes-back"
        | "create/exists-afterwards"
        | "update/absent-not-created" => "Note,Ticket",
        _ => "Note,Volume",
    }
}

/// Restarts take most of the time, and tell nothing of a fault that shows without them.
fn levels(assertion: &Assertion) -> &'static [&'static str] {
    match assertion.level {
        Level::Core | Level::Feature if assertion.id != "failure/throttled-says-until-when" => {
            &["--level=core,feature"]
        }
        _ => &[],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_is_noticed_by_its_own_assertion_and_no_other() {
    let only = std::env::var("ONLY_FAULT").unwrap_or_default();
    let chosen = assertions()
        .into_iter()
        .filter(|assertion| assertion.id.starts_with(&only));
    let wrong: Vec<String> = stream::iter(chosen)
        .map(|assertion| async move {
            let id = assertion.id;
            let report = run(
                id,
                &[levels(assertion), &[&format!("--kind={}", kinds(id))]].concat(),
            )
            .await;
            let failed = failed(&report);
            if failed == BTreeSet::from([id]) {
                return None;
            }
            let seen: Vec<_> = report
                .findings
                .iter()
                .filter(|finding| matches!(finding.verdict, Verdict::Failed(_) | Verdict::Blocked(_)))
                .map(|finding| {
                    format!(
                        "    {} {}: {:?}",
                        finding.subject, finding.assertion.id, finding.verdict
                    )
                })
                .collect();
            let told = format!("{id}: failed {failed:?}\n{}", seen.join("\n"));
            eprintln!("{told}");
            Some(told)
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(|wrong| async move { wrong })
        .collect()
        .await;
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
