//! The page-long plugin keeps the contract: the conformance kit judges it, at Core and Durable level.

use std::fs;

use clap::Parser;
use provider_conformance::{Finding, Progress, Verdict, cli::Cli};

struct Silent;

impl Progress for Silent {
    fn begins(&self, _: &str) {}
    fn subject(&self, _: &str, _: &[Finding]) {}
}

/// With an update of its own: what the kit is told comes before what the plugin publishes.
const FIXTURES: &str = "
examples:
  File:
  - name: notes
    externalName: notes.txt
    createParameters: {content: Buy milk.}
    updateParameters: {content: Buy bread.}
";

/// What does not apply to files: they are created at once and named by the user, keep neither marker nor secret, hold no number, and are
/// always good; a folder has no key, no version and no limit of requests.
const NOT_JUDGED: &[&str] = &[
    "File calls/unsupported-unimplemented",
    "File config/bad-credentials-code",
    "File config/bad-credentials-never-absent",
    "File create/deleted-not-recreated",
    "File create/invalid-example-rejected",
    "File create/invalid-field-named",
    "File create/token-reuse-rejected",
    "File delete/during-create-accepted",
    "File delete/foreign-marker-not-found",
    "File delete/stale-etag-conflict",
    "File durable/handle-after-kill",
    "File durable/handle-on-next-build",
    "File durable/handle-on-replica",
    "File durable/token-after-kill",
    "File list/includes-created",
    "File list/invalid-page-token-rejected",
    "File list/pages",
    "File list/parameters-on-request",
    "File marker/former-accepted",
    "File marker/former-deleted",
    "File marker/former-found-without-name",
    "File marker/former-polled",
    "File marker/kept",
    "File observe/absent-reports-derived-name",
    "File observe/big-integers-exact",
    "File observe/found-without-name",
    "File observe/unknown-marker-is-absent",
    "File operation/foreign-handle-rejected",
    "File operation/foreign-marker-not-found",
    "File operation/handle-stable",
    "File operation/old-handles-valid",
    "File operation/progress-monotonic",
    "File operation/terminal-response-stable",
    "File update/during-operation-accepted",
    "File update/foreign-marker-not-found",
    "File update/immutable-rejected",
    "File update/stale-etag-conflict",
    "File upstream/throttled-is-failure",
    "plugin config/missing-credential-unauthenticated",
    "plugin secrets/not-in-logs",
];

#[tokio::test]
async fn it_conforms_at_core_and_durable_level() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = |name: &str| {
        let path = place.path().join(name);
        fs::create_dir(&path).expect("a folder");
        path.display().to_string()
    };
    let (own, other) = (folder("own"), folder("other"));
    let away = place.path().join("away").display().to_string();
    let fixtures = place.path().join("fixtures.yaml");
    fs::write(&fixtures, FIXTURES).expect("a file");
    let run = Cli::parse_from([
        "provider-conformance".to_owned(),
        format!("--plugin-command={}", env!("CARGO_BIN_EXE_files-plugin")),
        format!("--next-plugin-command={}", env!("CARGO_BIN_EXE_files-plugin")),
        format!("--fixtures={}", fixtures.display()),
        format!("--setting=folder={own}"),
        format!("--other-setting=folder={other}"),
        format!("--dead-setting=folder={away}"),
        format!(
            "--fault-cmd=case $1 in upstream-down) mv {own} {away};; upstream-up) mv {away} {own};; *) exit 2;; esac"
        ),
    ])
    .run()
    .expect("a good command line");
    run.execute(&Silent).await.expect("the plugin starts");
    let report = run.finish().await;

    let wrong: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::Failed(_) | Verdict::Blocked(_)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(report.exit_code(), 0, "{:?}", report.left_behind);
    let mut not_judged: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::NotApplicable(_) | Verdict::Skipped))
        .map(|finding| format!("{} {}", finding.subject, finding.assertion.id))
        .collect();
    not_judged.sort_unstable();
    assert_eq!(not_judged, NOT_JUDGED);
    for folder in [own, other] {
        assert_eq!(
            fs::read_dir(&folder).expect("a folder").count(),
            0,
            "{folder} is clean"
        );
    }
}
