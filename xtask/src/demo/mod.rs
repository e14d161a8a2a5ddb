//! The main job, shown as it happens: a real Kubernetes API server, real AWS API calls, real processes, and two of them killed
//! at the worst moment.

mod aws;
pub(crate) mod compositions;
mod deletion;
mod dev;
mod kubernetes;
mod table;

use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::{Duration, Instant};

use bridge_control_plane::Assets;
use bridge_control_plane::process::ScratchDir;
use serde_json::Value;

use self::aws::Aws;
use self::dev::Dev;
use self::kubernetes::Kubernetes;
use crate::Failure;
use crate::build::build_binaries;
use crate::project::Project;
use crate::report::Report;

/// What is applied beside the account's configuration; the distribution is the one whose creation is interrupted.
const BUCKET: &str = "examples/aws/bucket.yaml";
const DISTRIBUTION: &str = "examples/aws/distribution.yaml";

/// How long AWS takes to deploy a distribution: long enough for the kills meanwhile.
const DEPLOYED_AFTER: Duration = Duration::from_secs(12);
/// No wait of the demo is longer.
const LIMIT: Duration = Duration::from_mins(3);
const LOOK_EVERY: Duration = Duration::from_millis(200);

pub(crate) async fn run_all() -> Result<(), Failure> {
    let passed = Passed::play(false).await?;
    passed.dev.stop().await?;
    passed.report.say("PASS: one distribution, nothing left behind");
    Ok(())
}

/// Deletes nothing, and goes on until it is interrupted, which then is its end and no failure.
pub(crate) async fn run_and_keep(interrupted: impl Future<Output = Failure>) -> Result<(), Failure> {
    let mut interrupted = pin!(interrupted);
    let passed = tokio::select! {
        result = Passed::play(true) => result?,
        failure = &mut interrupted => return Err(failure),
    };
    passed
        .report
        .say("PASS: one distribution; bucket and distribution stay until Ctrl-C");
    tokio::select! {
        ended = passed.dev.ended() => Err(ended),
        _ = interrupted => passed.dev.stop().await,
    }
}

/// What runs after the demo.
struct Passed {
    report: Report,
    dev: Dev,
    _aws: Aws,
    _scratch: ScratchDir,
}

impl Passed {
    async fn play(keep: bool) -> Result<Self, Failure> {
        let report = Report::new();
        let project = Project::find().await?;
        report
            .step(
                "build the bridge, the AWS plugin and the emulated AWS",
                build(&project),
            )
            .await?;
        report.step("control plane binaries", control_plane()).await?;
        let scratch =
            ScratchDir::new("crossbridge-demo-").map_err(|error| Failure::new(error.to_string()))?;
        let aws = report
            .step("start the emulated AWS", Aws::start(&project, DEPLOYED_AFTER))
            .await?;
        report.say("start a control plane, the plugin and the bridge, and apply a bucket and a distribution");
        let manifests = [
            aws.account(scratch.path())?,
            project.root.join(BUCKET),
            project.root.join(DISTRIBUTION),
        ];
        let dev = Dev::start(&project, &scratch.path().join("state.json"), &manifests, &[])?;
        let demo = Demo {
            report: &report,
            aws: &aws,
            dev: &dev,
            manifests: &manifests,
            keep,
        };
        // Whatever the demo comes to, a bridge or plugin that cannot be started at all is the better reason.
        tokio::select! {
            result = demo.play() => result?,
            ended = dev.ended() => return Err(ended),
        }
        Ok(Self {
            report,
            dev,
            _aws: aws,
            _scratch: scratch,
        })
    }
}

async fn build(project: &Project) -> Result<(), Failure> {
    let binaries = ["runtime-bridge", "provider-aws-example", "aws-emulator"];
    build_binaries(&project.root, &binaries).await.map(drop)
}

async fn control_plane() -> Result<(), Failure> {
    Assets::find_or_build()
        .await
        .map(drop)
        .map_err(|error| Failure::new(error.to_string()))
}

struct Demo<'a> {
    report: &'a Report,
    aws: &'a Aws,
    dev: &'a Dev,
    manifests: &'a [PathBuf; 3],
    keep: bool,
}

impl Demo<'_> {
    async fn play(&self) -> Result<(), Failure> {
        let [_, bucket, distribution] = self.manifests;
        let state = until("the control plane is ready", async || Ok(self.dev.state())).await?;
        let kubernetes = Kubernetes::of(&state)?;

        let named = until(
            "AWS creates the distribution and its name is stored",
            async || {
                // Until its kind is served this is an error, and nothing to worry about.
                let object = kubernetes.get(distribution).await.unwrap_or_default();
                Ok(object.filter(|object| external_name(object).is_some()))
            },
        )
        .await?;
        let before = self.dev.starts();
        self.report.say(
            "the distribution has its name and is not deployed yet: kill -9 the plugin and the bridge, now",
        );
        self.dev.kill(&["plugin", "bridge"]).await?;
        if is_ready(&named) {
            return Err(Failure::new(
                "the distribution was ready before the kills: this proves nothing",
            ));
        }
        until("plugin and bridge are started again", async || {
            Ok((self.dev.starts() >= before + 2).then_some(()))
        })
        .await?;

        until_ready(&kubernetes, bucket).await?;
        let object = until_ready(&kubernetes, distribution).await?;
        let name = external_name(&object).unwrap_or_default();
        self.report
            .say(&format!("both are ready; the distribution is {name}"));

        let (ids, asked) = (self.aws.distributions().await?, self.aws.creates().await?);
        if ids != [name] || external_name(&named) != Some(name) {
            return Err(Failure::new(format!(
                "AWS has the distributions {ids:?}, Kubernetes first knew {:?} and now {name:?}",
                external_name(&named)
            )));
        }
        self.report.say(&format!(
            "AWS itself reports: exactly one distribution, {name}; it was asked to create one {asked} time(s)"
        ));

        if self.keep {
            return Ok(());
        }
        self.report.say("delete both");
        kubernetes.delete(&[distribution, bucket]).await?;
        for manifest in [distribution, bucket] {
            until("what was deleted is gone", async || {
                Ok(kubernetes.get(manifest).await?.is_none().then_some(()))
            })
            .await?;
        }
        let (ids, buckets) = (self.aws.distributions().await?, self.aws.buckets().await?);
        if ids.is_empty() && buckets.is_empty() {
            self.report
                .say("AWS itself reports: no distribution and no bucket is left");
            Ok(())
        } else {
            Err(Failure::new(format!(
                "AWS still has the distributions {ids:?} and the buckets {buckets:?}"
            )))
        }
    }
}

async fn until_ready(kubernetes: &Kubernetes, manifest: &Path) -> Result<Value, Failure> {
    let what = format!("{} is ready", manifest.display());
    until(&what, async || {
        Ok(kubernetes.get(manifest).await?.filter(is_ready))
    })
    .await
}

fn is_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn external_name(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"]["crossplane.io/external-name"]
        .as_str()
        .filter(|name| !name.is_empty())
}

/// Polls until there is something to see; fails after [`LIMIT`].
async fn until<T>(what: &str, look: impl AsyncFn() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    let begun = Instant::now();
    loop {
        if let Some(seen) = look().await? {
            return Ok(seen);
        }
        if begun.elapsed() >= LIMIT {
            return Err(Failure::new(format!("not within {} s: {what}", LIMIT.as_secs())));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
