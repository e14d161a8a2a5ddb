//! Runs that are cut short, chosen, or on hooks of the author's.

use std::{path::Path, process::Stdio, time::Duration};

use clap::Parser;
use provider_conformance::{Finding, Progress, Report, Run, Verdict, cli::Cli};
use tokio::process::{Child, Command};

struct NoProgress;

impl Progress for NoProgress {
    fn begins(&self, _: &str) {}
    fn subject(&self, _: &str, _: &[Finding]) {}
}

const REFERENCE_PLUGIN: &str = env!("CARGO_BIN_EXE_conformance-reference-plugin");

fn prepared(folder: &Path, more: &[String]) -> Run {
    let own = folder.join("own");
    std::fs::create_dir_all(&own).expect("a folder");
    let base = [
        "provider-conformance".to_owned(),
        format!("--setting=folder={}", own.display()),
        "--credential=key=sesame-open-wide".to_owned(),
    ];
    Cli::parse_from(base.iter().chain(more))
        .run()
        .expect("a good command line")
}

/// Resources in the reference plugin's cloud, by file.
fn remaining_resources(folder: &Path) -> Vec<String> {
    let kinds = std::fs::read_dir(folder.join("own")).expect("the cloud");
    kinds
        .flat_map(|kind| std::fs::read_dir(kind.expect("a kind").path()).expect("a kind's folder"))
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| path.display().to_string())
        .collect()
}

fn verdicts<'a>(report: &'a Report, id: &'a str) -> impl Iterator<Item = &'a Verdict> {
    report
        .findings
        .iter()
        .filter(move |finding| finding.assertion.id == id)
        .map(|finding| &finding.verdict)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_run_deletes_what_it_created() {
    for milliseconds in [400, 900, 1700] {
        let folder = tempfile::tempdir().expect("a folder");
        // Draw is left out: of a kind without recovery it cannot be known whether an interrupted creation had an effect.
        let more = [
            format!("--plugin-command={REFERENCE_PLUGIN}"),
            "--kind=Note,Ticket,Volume".to_owned(),
        ];
        let run = prepared(folder.path(), &more);
        // Wherever that is: dropped in the middle, as Ctrl-C does.
        let cut = tokio::time::timeout(Duration::from_millis(milliseconds), run.execute(&NoProgress)).await;
        assert!(cut.is_err(), "it was over before it was cut");
        let report = run.finish().await;
        assert_eq!(report.left_behind, Vec::<String>::new());
        assert_eq!(
            remaining_resources(folder.path()),
            Vec::<String>::new(),
            "after {milliseconds} ms"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn skipped_assertions_are_listed_and_unselected_ones_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = [
        format!("--plugin-command={REFERENCE_PLUGIN} --fault delete/absent-idempotent"),
        "--only=delete,observe/unknown-name-is-absent".to_owned(),
        "--skip=delete/absent-idempotent".to_owned(),
        "--kind=Note".to_owned(),
        "--repeat=2".to_owned(),
    ];
    let run = prepared(folder.path(), &more);
    run.execute(&NoProgress).await.expect("the plugin starts");
    let report = run.finish().await;
    assert_eq!(report.exit_code(), 0, "{:#?}", report.findings);
    let skipped: Vec<_> = verdicts(&report, "delete/absent-idempotent").collect();
    assert_eq!(skipped, [&Verdict::Skipped]);
    assert!(
        report
            .findings
            .iter()
            .all(|finding| finding.assertion.id.starts_with("delete/")
                || finding.assertion.id == "observe/unknown-name-is-absent"),
        "{:#?}",
        report.findings
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_fast_ends_with_the_suite_of_the_first_failure() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = [
        format!("--plugin-command={REFERENCE_PLUGIN} --fault observe/unknown-name-is-absent"),
        "--only=observe,delete".to_owned(),
        "--fail-fast".to_owned(),
    ];
    let run = prepared(folder.path(), &more);
    run.execute(&NoProgress).await.expect("the plugin starts");
    let report = run.finish().await;
    assert_eq!(report.exit_code(), 1, "{:#?}", report.findings);
    let mut failed = verdicts(&report, "observe/unknown-name-is-absent");
    assert!(
        failed.any(|verdict| matches!(verdict, Verdict::Failed(_))),
        "{:#?}",
        report.findings
    );
    let of_deletions = |finding: &&Finding| finding.assertion.id.starts_with("delete/");
    assert_eq!(
        report.findings.iter().filter(of_deletions).count(),
        0,
        "{:#?}",
        report.findings
    );
    assert_eq!(remaining_resources(folder.path()), Vec::<String>::new());
    assert_eq!(report.selection.to_string(), "--only observe,delete --fail-fast");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_takes_nothing_down_judges_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = [
        format!("--plugin-command={REFERENCE_PLUGIN}"),
        "--fault-cmd=true".to_owned(),
        "--only=upstream".to_owned(),
        "--kind=Note".to_owned(),
    ];
    let run = prepared(folder.path(), &more);
    run.execute(&NoProgress).await.expect("the plugin starts");
    let report = run.finish().await;
    for id in ["upstream/down-never-absent", "upstream/recovers"] {
        let verdict: Vec<_> = verdicts(&report, id).collect();
        assert!(
            matches!(verdict.as_slice(), [Verdict::Blocked(why)] if why.contains("still answers")),
            "{id}: {verdict:?}"
        );
    }
    assert_eq!(remaining_resources(folder.path()), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_fault_hook_blocks_the_suite_and_recovers() {
    let advertised = |hook: &'static str| async move {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("reported");
        let more = [
            format!("--plugin-command={REFERENCE_PLUGIN}"),
            format!("--fault-cmd=echo $1 >> {}; {hook}", log.display()),
            "--only=upstream".to_owned(),
            "--kind=Note".to_owned(),
        ];
        let run = prepared(folder.path(), &more);
        run.execute(&NoProgress).await.expect("the plugin starts");
        let report = run.finish().await;
        let advertised = std::fs::read_to_string(log).expect("it was called");
        (report, advertised)
    };
    for hook in ["exit 127", "exit 1", "no-such-program-anywhere", "kill -9 $$"] {
        let (report, advertised) = advertised(hook).await;
        assert_eq!(advertised, "upstream-down\nupstream-up\n", "{hook}");
        assert_eq!(report.exit_code(), 3, "{hook}: {:#?}", report.findings);
        let is_blocked = |finding: &Finding| matches!(finding.verdict, Verdict::Blocked(_));
        assert!(
            report.findings.iter().all(is_blocked),
            "{hook}: {:#?}",
            report.findings
        );
    }
    let (report, advertised) = advertised("exit 2").await;
    assert_eq!(advertised, "upstream-down\nthrottle\n");
    let is_left_out = |finding: &Finding| matches!(finding.verdict, Verdict::NotApplicable(_));
    assert!(report.findings.iter().all(is_left_out), "{:#?}", report.findings);
}

/// Keeps a plugin running at a socket, and its process id in a file; all of it ends with this process.
fn supervised(socket: &Path, pid: &Path) -> Child {
    let script = r#"
        (while :; do "$1" <&- & echo $! > "$2.new"; mv "$2.new" "$2"; wait $!; done) & loop=$!
        read -r _
        kill -KILL "$loop"; kill -KILL "$(cat "$2")"
    "#;
    Command::new("sh")
        .args(["-c", script, "sh", REFERENCE_PLUGIN])
        .arg(pid)
        .env("PROVIDER_PLUGIN_ENDPOINT", format!("unix://{}", socket.display()))
        .stdin(Stdio::piped())
        .spawn()
        .expect("there is a shell")
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_the_author_replace_processes_of_the_kit() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (first, second) = (at("a.sock"), at("b.sock"));
    let mut plugins = [
        supervised(&first, &at("a.pid")),
        supervised(&second, &at("b.pid")),
    ];
    // The old process has ended when the hook ends; what serves after it is the new one.
    let pid = at("a.pid").display().to_string();
    let restart =
        format!("old=$(cat {pid}); kill -9 $old; while kill -0 $old 2>/dev/null; do sleep 0.01; done");
    let more = [
        format!("--endpoint=unix:{}", first.display()),
        format!("--endpoint-b=unix://{}", second.display()),
        format!("--restart-cmd={restart}"),
        format!("--upgrade-cmd={restart}"),
        "--only=durable".to_owned(),
        "--kind=Volume,Note".to_owned(),
    ];
    let run = prepared(folder.path(), &more);
    run.execute(&NoProgress).await.expect("the plugin serves");
    let report = run.finish().await;
    assert_eq!(report.exit_code(), 0, "{:#?}", report.findings);
    // The shell of a hook may take longer than a creation, which is then reported as not applicable.
    let killed: Vec<&Verdict> = verdicts(&report, "durable/killed-in-create-one-resource").collect();
    let tried = |verdict: &&Verdict| matches!(verdict, Verdict::Passed | Verdict::NotApplicable(_));
    assert!(!killed.is_empty() && killed.iter().all(tried), "{killed:?}");
    for id in [
        "durable/found-after-kill",
        "durable/token-after-kill",
        "durable/handle-after-kill",
        "durable/handle-on-replica",
        "durable/handle-on-next-build",
        "durable/visible-to-replica",
    ] {
        assert!(
            verdicts(&report, id).any(|verdict| *verdict == Verdict::Passed),
            "{id} was not judged"
        );
    }
    assert_eq!(remaining_resources(folder.path()), Vec::<String>::new());
    for plugin in &mut plugins {
        drop(plugin.stdin.take());
        plugin.wait().await.expect("it ends");
    }
}
