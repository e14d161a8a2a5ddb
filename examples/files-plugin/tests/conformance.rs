//! The page-long plugin keeps the contract: the conformance kit judges it, at Core and Durable level.

use std::fs;

use clap::Parser;
use provider_conformance::{Finding, Progress, Verdict, cli::Cli};

struct Silent;

impl Progress for Silent {
    fn begins(&self, _: &str) {}
    fn subject(&self, _: &str, _: &[Finding]) {}
}

/// With an update, which the page has no room for.
const FIXTURES: &str = "
examples:
  File:
  - name: notes
    externalName: notes.txt
    createParameters: {content: Buy milk.}
    updateParameters: {content: Buy bread.}
";

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
    run.tell(&Silent).await.expect("the plugin starts");
    let report = run.finish().await;

    let wrong: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| matches!(finding.verdict, Verdict::Failed(_) | Verdict::Blocked(_)))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(report.exit_code(), 0, "{:?}", report.left_behind);
    for judged in [
        "durable/killed-in-create-one-resource",
        "durable/seen-by-replica",
        "process/sigterm-exits-0",
        "upstream/down-never-absent",
        "update/wish-comes-back",
        "config/two-never-cross",
    ] {
        let passed = report
            .findings
            .iter()
            .any(|finding| finding.assertion.id == judged && finding.verdict == Verdict::Passed);
        assert!(passed, "{judged} was not judged");
    }
    for folder in [own, other] {
        assert_eq!(
            fs::read_dir(&folder).expect("a folder").count(),
            0,
            "{folder} is clean"
        );
    }
}
