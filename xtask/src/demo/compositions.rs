//! A claim of two buckets and a queue that one of them uses: composed by a function in Python, changed while bridge and function are killed, and
//! deleted in order.

use std::path::{Path, PathBuf};

use bridge_control_plane::process::{ScratchDir, Spawn};
use serde_json::{Value, json};

use super::{
    aws::Aws,
    build, control_plane,
    dev::{Dev, Function},
    is_ready,
    kubernetes::Kubernetes,
    until,
};
use crate::{
    Failure,
    project::Project,
    report::Report,
    run::{answer, run},
};

const EXAMPLE: &str = "examples/aws-composition";
/// The first one uses the queue.
pub(super) const BUCKETS: [&str; 2] = ["crossbridge-demo-shop-data", "crossbridge-demo-shop-logs"];
pub(super) const QUEUE: &str = "crossbridge-demo-shop-events";

pub(crate) async fn run_all() -> Result<(), Failure> {
    let report = Report::new();
    let project = Project::find().await?;
    report
        .step(
            "build the bridge, the AWS plugin and the emulated AWS",
            build(&project),
        )
        .await?;
    report.step("control plane binaries", control_plane()).await?;
    let folder = project.root.join(EXAMPLE);
    let python = report
        .step("install what the function runs on", install(&project, &folder))
        .await?;
    let scratch = ScratchDir::new("crossbridge-demo-").map_err(|error| Failure::new(error.to_string()))?;
    let aws = report
        .step(
            "start the emulated AWS",
            Aws::start(&project, super::DEPLOYED_AFTER),
        )
        .await?;
    report.say("start a control plane, plugin, function and bridge, and apply a definition, a composition and a claim");
    let [definition, composition, claim] = ["1-definition", "2-composition", "3-storage"]
        .map(|name| folder.join(format!("manifests/{name}.yaml")));
    let manifests = [
        aws.account(scratch.path())?,
        definition.clone(),
        composition.clone(),
        claim.clone(),
    ];
    let function = Function {
        name: "storages",
        command: format!(
            "'{}' '{}' --insecure --address {{address}}",
            python.display(),
            folder.join("main.py").display()
        ),
    };
    let dev = Dev::start(
        &project,
        &scratch.path().join("state.json"),
        &manifests,
        &[function],
    )?;
    let demo = Demo {
        report: &report,
        project: &project,
        aws: &aws,
        dev: &dev,
        definition,
        composition,
        claim,
    };
    tokio::select! {
        result = demo.play() => result?,
        ended = dev.ended() => return Err(ended),
    }
    dev.stop().await?;
    report.say(
        "PASS: composed, changed through two kills, blocked in sight, deleted in order; nothing is left",
    );
    Ok(())
}

/// The interpreter of an environment with the pinned packages, made once.
async fn install(project: &Project, folder: &Path) -> Result<PathBuf, Failure> {
    let environment = project.scratch("demo-function");
    let python = environment.join("bin/python");
    let pins = std::fs::read_to_string(folder.join("requirements.lock"))
        .map_err(|error| Failure::new(format!("cannot read the function's requirements.lock: {error}")))?;
    let done = environment.join("installed");
    if std::fs::read_to_string(&done).is_ok_and(|installed| installed == pins) {
        return Ok(python);
    }
    run(Spawn::new("python3").args(["-m", "venv"]).arg(&environment)).await?;
    run(Spawn::new(&python)
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
        ])
        .arg(folder.join("requirements.lock")))
    .await?;
    std::fs::write(&done, pins)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", done.display())))?;
    Ok(python)
}

pub(super) struct Demo<'a> {
    pub(super) report: &'a Report,
    project: &'a Project,
    pub(super) aws: &'a Aws,
    dev: &'a Dev,
    definition: PathBuf,
    composition: PathBuf,
    pub(super) claim: PathBuf,
}

impl Demo<'_> {
    async fn play(&self) -> Result<(), Failure> {
        let state = until("the control plane is ready", async || Ok(self.dev.state())).await?;
        let kubernetes = Kubernetes::of(&state)?;
        // Until its kind is served this is an error, and nothing to worry about.
        until("the claim is ready", async || {
            Ok(kubernetes
                .get(&self.claim)
                .await
                .unwrap_or_default()
                .filter(is_ready))
        })
        .await?;
        self.expect_aws(&BUCKETS, &[QUEUE]).await?;
        self.report
            .say("the claim is ready, and AWS has both buckets and the queue:");
        self.trace(&state).await?;

        self.change(&kubernetes).await?;
        self.delete(&kubernetes).await?;
        self.report.say("delete the definition");
        kubernetes.delete(&[&self.definition, &self.composition]).await?;
        self.until_gone(&kubernetes, &self.definition).await
    }

    /// The composition is changed, and bridge and function are killed with it.
    async fn change(&self, kubernetes: &Kubernetes) -> Result<(), Failure> {
        let before = self.dev.starts();
        self.report
            .say("change the composition, and kill -9 bridge and function, now");
        let team = json!([{"op": "replace", "path": "/spec/pipeline/0/input/team", "value": "shop"}]);
        kubernetes.patch(&self.composition, &team).await?;
        self.dev.kill(&["bridge", "function storages"]).await?;
        until("bridge and function are started again", async || {
            Ok((self.dev.starts() >= before + 2).then_some(()))
        })
        .await?;
        until("all that is composed has the change", async || {
            let all = kubernetes.list("buckets,queues", "default").await?;
            let is_changed = |object: &&Value| {
                let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
                let mut synced = conditions.filter(|condition| condition["type"] == "Synced");
                object["spec"]["forProvider"]["tags"]["team"] == "shop"
                    && synced.all(|synced| {
                        synced["status"] == "True"
                            && synced["observedGeneration"] == object["metadata"]["generation"]
                    })
            };
            let changed = all.iter().filter(is_changed).count();
            Ok((all.len() == 3 && changed == 3).then_some(()))
        })
        .await?;
        self.expect_aws(&BUCKETS, &[QUEUE]).await?;
        self.report
            .say("two buckets and a queue have the change; AWS has the same, and no more");
        Ok(())
    }

    async fn until_gone(&self, kubernetes: &Kubernetes, manifest: &Path) -> Result<(), Failure> {
        until("what was deleted is gone", async || {
            Ok(kubernetes.get(manifest).await?.is_none().then_some(()))
        })
        .await
    }

    pub(super) async fn expect_aws(&self, buckets: &[&str], queues: &[&str]) -> Result<(), Failure> {
        let has = [self.aws.buckets().await?, self.aws.queues().await?];
        for (mut has, (what, expected)) in has.into_iter().zip([("buckets", buckets), ("queues", queues)]) {
            has.sort();
            if has != expected {
                return Err(Failure::new(format!(
                    "AWS has the {what} {has:?}, and not {expected:?}"
                )));
            }
        }
        Ok(())
    }

    async fn trace(&self, state: &Value) -> Result<(), Failure> {
        let kubeconfig = state["kubeconfig"].as_str().unwrap_or_default();
        let trace = Spawn::new(self.project.binary("runtime-bridge")).args([
            "trace",
            "storage/shop",
            "--namespace",
            "default",
            "--kubeconfig",
            kubeconfig,
        ]);
        for line in answer(trace).await?.lines() {
            println!("  {line}");
        }
        Ok(())
    }
}
