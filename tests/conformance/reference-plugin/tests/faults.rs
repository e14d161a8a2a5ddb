//! The kit against a plugin that breaks one rule at a time: exactly that assertion fails. And against the same plugin as it should be.

use std::{collections::BTreeSet, path::Path};

use clap::Parser;
use futures::{StreamExt, stream};
use provider_conformance::{Assertion, Finding, Level, Progress, Report, Verdict, assertions, cli::Cli};
use tempfile::TempDir;

/// Runs at the same time: most of each is waiting.
const PARALLEL_RUNS: usize = 10;

/// Other ways of breaking a rule, which the kit did not always see. Before the `#` stands the id of the assertion that must fail.
const VARIANTS: &[&str] = &[
    "responses/texts#control",
    "responses/no-bare-errors#cancelled",
    "responses/no-bare-errors#deadline-exceeded",
    "responses/no-bare-errors#out-of-range",
    "responses/no-bare-errors#resource-exhausted",
    "responses/no-bare-errors#unavailable",
    "calls/required-fields-checked#check-config",
    "calls/required-fields-checked#list",
    "calls/required-fields-checked#poll",
    "calls/unknown-type-not-found#list",
    "config/bad-credentials-never-absent#delete",
    "config/bad-credentials-never-absent#list",
    "config/bad-credentials-never-absent#nameless",
    "config/bad-credentials-never-absent#poll",
    "config/dead-upstream-never-absent#delete",
    "config/dead-upstream-never-absent#list",
    "config/dead-upstream-never-absent#nameless",
    "config/dead-upstream-never-absent#poll",
    "config/check-agrees-with-calls#settings",
    "config/new-revision-effective#credentials",
    "config/isolated#at-once",
    "config/isolated#unmarked",
    "config/isolated#updates",
    "create/invalid-name-rejected#too-long",
    "create/invalid-field-named#another-field",
    "create/invalid-field-named#no-field",
    "create/no-effect-after-deadline#in-the-end",
    "create/no-effect-after-deadline#slow",
    "create/no-effect-after-deadline#token",
    "create/ten-times-one-resource#marker",
    "create/ten-times-one-resource#operation",
    "create/ten-times-one-resource#rejected",
    "create/token-reuse-rejected#checked-first",
    "durable/found-after-kill#not-removed",
    "durable/found-after-kill#not-updated",
    "durable/handle-after-kill#delete",
    "durable/handle-after-kill#never-ends",
    "durable/handle-after-kill#update",
    "durable/handle-on-next-build#delete",
    "durable/handle-on-next-build#internal",
    "durable/handle-on-replica#update",
    "durable/visible-to-replica#not-removed",
    "durable/token-after-kill#failure",
    "health/each-service#discovery",
    "kinds/digest-stable#build",
    "kinds/digest-stable#process",
    "observe/read-only#echo",
    "observe/found-without-name#newest",
    "observe/unknown-marker-is-absent#first-of-all",
    "observe/unknown-name-is-absent#prefix",
    "observe/matches-desired-state#plugin-compares",
    "observe/matches-desired-state#sorted",
    "operation/terminal-response-stable#restart",
    "operation/old-handles-valid#update",
    "operation/progress-monotonic#update",
    "process/sigterm-drains-calls#effect",
    "process/sigterm-drains-calls#in-order",
    "reflection/lists-services#discovery",
    "secrets/not-in-handles#base64",
    "secrets/not-in-logs#other-config",
    "transport/call-after-oversized#connection",
    "transport/largest-message-accepted#resource-service",
    "transport/oversized-rejected#resource-service",
    "update/immutable-rejected#invalid-spec",
    "update/immutable-rejected#second",
    "update/matches-desired-state#plugin-compares",
    "upstream/down-never-absent#delete",
    "upstream/down-never-absent#list",
    "upstream/down-never-absent#nameless",
    "upstream/throttled-is-failure#changes",
    "upstream/throttled-is-failure#status",
];

/// Ways that show only once the plugin is another process.
const DURABLE: &[&str] = &[
    "kinds/digest-stable#build",
    "kinds/digest-stable#process",
    "operation/terminal-response-stable#restart",
];

struct NoProgress;

impl Progress for NoProgress {
    fn begins(&self, _: &str) {}
    fn subject(&self, _: &str, _: &[Finding]) {}
}

/// Runs the kit against the reference plugin with this fault; empty: none.
async fn run(fault: &str, more: &[&str]) -> Report {
    run_reference_plugin(&format!("--fault '{fault}'"), more).await
}

async fn run_reference_plugin(arguments: &str, more: &[&str]) -> Report {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = command_line(&folder, arguments)
        .into_iter()
        .chain(more.iter().map(|argument| (*argument).to_owned()));
    let run = Cli::parse_from(arguments).run().expect("a good command line");
    run.execute(&NoProgress).await.expect("the plugin starts");
    run.finish().await
}

fn command_line(folder: &TempDir, arguments: &str) -> Vec<String> {
    let place = |name: &str| -> String {
        let path = folder.path().join(name);
        std::fs::create_dir_all(&path).expect("a folder");
        path.display().to_string()
    };
    let (own, other) = (place("own"), place("other"));
    let nowhere = folder.path().join("nowhere").display().to_string();
    let plugin = format!(
        "{} {arguments}",
        env!("CARGO_BIN_EXE_conformance-reference-plugin")
    );
    vec![
        "provider-conformance".to_owned(),
        format!("--plugin-command={plugin}"),
        format!("--next-plugin-command={plugin} --build 2"),
        format!("--setting=folder={own}"),
        "--credential=key=sesame-open-wide".to_owned(),
        "--bad-credential=key=no-word-of-mine".to_owned(),
        format!("--other-setting=folder={other}"),
        "--other-credential=key=speak-friend-and-enter".to_owned(),
        format!("--dead-setting=folder={nowhere}"),
        format!("--fault-cmd={}", fault_hook(Path::new(&own))),
        "--operation-timeout=4".to_owned(),
    ]
}

/// A file reports the reference plugin's cloud how to be.
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

/// Failed, or not to be judged.
fn not_passed(report: &Report) -> Vec<&Finding> {
    report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::Failed(_) | Verdict::Blocked(_)))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_faultless_plugin_passes_every_assertion() {
    let report = run("", &[]).await;
    let not_passed = not_passed(&report);
    assert!(not_passed.is_empty(), "{not_passed:#?}");
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

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_fails_one_read_in_five_is_judged_all_the_same() {
    let report = run("flaky", &["--kind=Note,Ticket,Volume", "--level=core,feature"]).await;
    let not_passed = not_passed(&report);
    assert!(not_passed.is_empty(), "{not_passed:#?}");
    assert_eq!(report.left_behind, Vec::<String>::new());
}

/// Volumes, of which each has a text of its own.
const UNIQUE: &str = "
examples:
  Volume:
  - name: plain
    createParameters: {text: \"TEXT\", size: 3, color: red, flat: true}
    updateParameters: {text: \"TEXT\", size: 5, color: red, flat: true}
    invalidParameters: {text: \"TEXT\", size: -1, color: red}
    sensitiveValues: {/secret: hush-hush-example}
";

#[tokio::test(flavor = "multi_thread")]
async fn what_only_one_may_have_is_made_unique_by_the_example() {
    let folder = tempfile::tempdir().expect("a folder");
    for (text, conforms) in [("abc-{{unique}}", true), ("abc", false)] {
        let fixtures = folder.path().join("fixtures.yaml");
        std::fs::write(&fixtures, UNIQUE.replace("TEXT", text)).expect("a file");
        let fixtures = format!("--fixtures={}", fixtures.display());
        let report = run(
            "unique-text",
            &["--kind=Volume", "--only=create,update,durable", &fixtures],
        )
        .await;
        let not_passed = not_passed(&report);
        let hint = "put {{unique}} into what only one may have";
        let is_hinted = not_passed
            .iter()
            .any(|finding| format!("{:?}", finding.verdict).contains(hint));
        assert_eq!(
            (not_passed.is_empty(), is_hinted),
            (conforms, !conforms),
            "{not_passed:#?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stale_delete_removed_is_created_again() {
    const STALE: &str = "delete/stale-etag-conflict";
    let report = run(STALE, &["--kind=Note", "--level=core"]).await;
    let ids: Vec<_> = not_passed(&report)
        .iter()
        .map(|finding| finding.assertion.id)
        .collect();
    assert_eq!(ids, [STALE], "{:#?}", not_passed(&report));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_process_is_the_one_cause_that_is_named() {
    let report = run("dies", &["--kind=Note", "--only=responses,update,list"]).await;
    assert_eq!(failed(&report), BTreeSet::new(), "{:#?}", not_passed(&report));
    assert_eq!(report.exit_code(), 3);
    let causes: BTreeSet<_> = not_passed(&report)
        .into_iter()
        .map(|finding| format!("{:?}", finding.verdict))
        .collect();
    assert!(
        causes
            .iter()
            .all(|cause| cause.contains("the plugin's process ended with exit status: 134")),
        "{causes:#?}"
    );
    assert_eq!(
        verdict_on(&report, "Note", "list/includes-created"),
        Some(&Verdict::Passed),
        "what comes after it is judged"
    );
    let text = provider_conformance::report::write(&report, provider_conformance::report::Format::Text);
    assert_eq!(
        text.matches("the plugin's process ended").count(),
        causes.len(),
        "{text}"
    );
}

fn verdict_on<'a>(report: &'a Report, kind: &str, id: &str) -> Option<&'a Verdict> {
    report
        .findings
        .iter()
        .find(|finding| finding.subject == kind && finding.assertion.id == id)
        .map(|finding| &finding.verdict)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unlisted_duplicate_is_found_by_its_marker() {
    const ONE: &str = "durable/killed-in-create-one-resource";
    let only = [
        "--only=durable/killed-in-create-one-resource",
        "--kind=Disk,Volume",
    ];
    let good = run_reference_plugin("--unlisted", &only).await;
    assert!(not_passed(&good).is_empty(), "{:#?}", not_passed(&good));
    assert_eq!(verdict_on(&good, "Disk", ONE), Some(&Verdict::Passed));
    let bad = run_reference_plugin(&format!("--unlisted --fault {ONE}"), &only).await;
    let found = verdict_on(&bad, "Disk", ONE);
    assert!(matches!(found, Some(Verdict::Failed(_))), "{found:?}");
    for report in [&good, &bad] {
        let found = verdict_on(report, "Volume", ONE);
        assert!(matches!(found, Some(Verdict::NotApplicable(_))), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_build_is_judged_for_each_kind() {
    const ON_NEXT: &str = "durable/handle-on-next-build";
    let report = run(ON_NEXT, &["--only=durable", "--kind=Disk,Volume"]).await;
    for kind in ["Disk", "Volume"] {
        let found = verdict_on(&report, kind, ON_NEXT);
        assert!(matches!(found, Some(Verdict::Failed(_))), "{kind}: {found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unserved_kind_is_reported_with_the_served_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = command_line(&folder, "");
    let run = Cli::parse_from(arguments.into_iter().chain(["--kind=Note,Nonsense".to_owned()]))
        .run()
        .expect("a good command line");
    let problem = run.execute(&NoProgress).await.expect_err("no plugin serves that");
    run.finish().await;
    assert_eq!(
        problem,
        "the plugin serves no Nonsense; it serves Disk, Draw, Note, Record, Ticket, Volume"
    );
}

/// The kinds in which a fault shows. The others would only take time.
fn kinds(fault: &str) -> &'static str {
    let id = fault.split_once('#').map_or(fault, |(id, _)| id);
    match id {
        // Those after the first give it the time.
        _ if fault == "observe/matches-desired-state#plugin-compares" => "Note,Volume",
        _ if fault == "create/no-effect-after-deadline#in-the-end" => "Note,Record,Ticket,Volume",
        "examples/valid"
        | "examples/requirements-exist"
        | "examples/secrets-outside-documents"
        | "kinds/well-formed"
        | "kinds/schemas-structural"
        | "observe/absent-reports-derived-name" => "Note,Record",
        "create/completes" | "responses/well-formed" | "calls/unsupported-unimplemented" => "Draw,Note",
        _ if fault == "create/ten-times-one-resource#marker" => "Note,Ticket",
        "observe/unknown-marker-is-absent"
        | "observe/found-without-name"
        | "observe/matches-desired-state"
        | "marker/former-found-without-name"
        | "create/exists-after-completion"
        | "update/absent-not-created" => "Note,Ticket",
        "delete/during-create-accepted"
        | "update/during-operation-accepted"
        | "config/bad-credentials-never-absent"
        | "config/dead-upstream-never-absent"
        | "upstream/down-never-absent" => "Disk,Note",
        "config/isolated" => "Note,Record,Volume",
        _ => "Note,Volume",
    }
}

/// Restarts take most of the time, and shows nothing of a fault that shows without them.
fn levels(fault: &str, assertion: &Assertion) -> &'static [&'static str] {
    match assertion.level {
        _ if DURABLE.contains(&fault) => &[],
        Level::Core | Level::Feature if assertion.id != "failure/throttled-has-retry-after" => {
            &["--level=core,feature"]
        }
        _ => &[],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_fails_exactly_its_own_assertion() {
    let only = std::env::var("ONLY_FAULT").unwrap_or_default();
    let faults = assertions()
        .into_iter()
        .map(|assertion| assertion.id)
        .chain(VARIANTS.iter().copied())
        .filter(|fault| fault.starts_with(&only));
    let not_passed: Vec<String> = stream::iter(faults)
        .map(check_fault)
        .buffer_unordered(PARALLEL_RUNS)
        .filter_map(|not_passed| async move { not_passed })
        .collect()
        .await;
    assert!(
        not_passed.is_empty(),
        "{} of them:\n{}",
        not_passed.len(),
        not_passed.join("\n")
    );
}

/// `None`: it is, as it should be.
async fn check_fault(fault: &'static str) -> Option<String> {
    let id = fault.split_once('#').map_or(fault, |(id, _)| id);
    let assertion = assertions().into_iter().find(|assertion| assertion.id == id)?;
    let kinds = format!("--kind={}", kinds(fault));
    // Another way of breaking a rule shows nothing new about other areas. The rules of every response have no calls of their own.
    let area = match id.split_once('/') {
        Some(("responses", _)) | None => "--only=responses,update".to_owned(),
        Some(("secrets", _)) => "--only=config,secrets,update".to_owned(),
        Some((area, _)) if DURABLE.contains(&fault) => format!("--only={area},durable,process"),
        Some((area, _)) => format!("--only={area}"),
    };
    let chosen: &[&str] = if fault == id { &[] } else { &[&area] };
    let report = run(fault, &[levels(fault, assertion), &[&kinds], chosen].concat()).await;
    let failed = failed(&report);
    if failed == BTreeSet::from([id]) {
        return None;
    }
    let seen: Vec<_> = not_passed(&report)
        .into_iter()
        .map(|finding| {
            format!(
                "    {} {}: {:?}",
                finding.subject, finding.assertion.id, finding.verdict
            )
        })
        .collect();
    let advertised = format!("{fault}: failed {failed:?}\n{}", seen.join("\n"));
    eprintln!("{advertised}");
    Some(advertised)
}
