//! Format, lints, dependencies and the contract.

use bridge_control_plane::process::{Output, Spawn};

use crate::build::{Built, build_all};
use crate::project::Project;
use crate::report::Report;
use crate::run::{cargo, output, run};
use crate::{Failure, tools};

pub(crate) async fn run_all() -> Result<(), Failure> {
    let report = Report::new();
    let project = Project::find().await?;
    all(&project, &report).await.map(drop)
}

/// Gives what was built to be linted: that is everything.
pub(crate) async fn all(project: &Project, report: &Report) -> Result<Built, Failure> {
    format(project, report).await?;
    // Those install a program or two and then take seconds: they wait, while the build computes.
    let (built, rest) = tokio::join!(build(project, report), outside(project, report));
    rest?;
    built
}

/// What needs no program but cargo's.
pub(crate) async fn quick(project: &Project, report: &Report) -> Result<Built, Failure> {
    format(project, report).await?;
    build(project, report).await
}

async fn format(project: &Project, report: &Report) -> Result<(), Failure> {
    let format = run(cargo(&project.root).args(["fmt", "--all", "--check"]));
    report.step("format (rustfmt)", format).await
}

async fn build(project: &Project, report: &Report) -> Result<Built, Failure> {
    let built = async { build_all(&project.root).await?.without_warnings() };
    report
        .step(
            "build everything, tests and binaries too, with lints (clippy)",
            built,
        )
        .await
}

async fn outside(project: &Project, report: &Report) -> Result<(), Failure> {
    report
        .step(
            "dependencies (cargo-deny: licences, bans, sources)",
            dependencies(project),
        )
        .await?;
    report.step("contract (buf lint)", contract(project)).await?;
    compatibility(project, report).await
}

/// Advisories are left out: their database is a git repository, which is not to be had from a package registry.
async fn dependencies(project: &Project) -> Result<(), Failure> {
    let cargo_deny = tools::cargo_deny().await?;
    run(Spawn::new(cargo_deny)
        .args([
            "--log-level=error",
            "--locked",
            "check",
            "bans",
            "licenses",
            "sources",
        ])
        .current_dir(&project.root))
    .await
}

async fn contract(project: &Project) -> Result<(), Failure> {
    run(Spawn::new(tools::buf().await?)
        .arg("lint")
        .current_dir(&project.root))
    .await
}

async fn compatibility(project: &Project, report: &Report) -> Result<(), Failure> {
    let Some(release) = last_release(project).await? else {
        report.say("contract (buf breaking): skipped, as there is no release to compare with yet");
        return Ok(());
    };
    let against = format!(".git#tag={release}");
    let buf = Spawn::new(tools::buf().await?).args(["breaking", "--against", &against]);
    report
        .step(
            &format!("contract (buf breaking, against {release})"),
            run(buf.current_dir(&project.root)),
        )
        .await
}

/// The newest tag like `v1.2.3` among the ancestors.
async fn last_release(project: &Project) -> Result<Option<String>, Failure> {
    let tags = Spawn::new("git")
        .args([
            "tag",
            "--merged=HEAD",
            "--sort=-version:refname",
            "--list",
            "v[0-9]*",
        ])
        .current_dir(&project.root)
        .stderr(Output::Inherit);
    Ok(output(tags).await?.lines().next().map(str::to_owned))
}
