//! Everything that a provider needs to run, started and killed on demand.

use std::{
    net::TcpListener,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use aws_emulator::AwsEmulator;
use bridge_control_plane::{
    ControlPlane, Options as ControlPlaneOptions,
    process::{Output, Process, ScratchDir, Spawn},
};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Cluster, Handle, binary};

/// Lines of the logs that a failed scenario shows.
const SHOWN: usize = 80;

/// Two whole stacks at once are as many as two cores bear.
static ROOM: Semaphore = Semaphore::const_new(2);

/// How a stack differs from the ordinary one.
#[derive(Default)]
pub struct StackOptions {
    /// Of the emulated AWS.
    pub aws: aws_emulator::Options,
    /// Further flags of `runtime-bridge serve`.
    pub bridge_flags: Vec<String>,
    /// Keys for the ProviderConfig, where not the emulator's own.
    pub credentials: Option<aws_emulator::Credentials>,
    /// With a kube-controller-manager: needed where owners' garbage is to be collected.
    pub controller_manager: bool,
}

/// A control plane, AWS, the plugin and the bridge. Deleted when dropped.
pub struct Stack {
    /// A client of the real API server.
    pub cluster: Cluster,
    /// The control plane under it.
    pub control_plane: ControlPlane,
    /// The emulated AWS, with its faults and its counts of calls.
    pub aws: AwsEmulator,
    plugin: Option<Process>,
    bridge: Option<Process>,
    bridge_flags: Vec<String>,
    admin: String,
    scratch: ScratchDir,
    starts: AtomicU32,
    _room: SemaphorePermit<'static>,
}

impl Stack {
    /// Starts all of it, installs the CRDs and a ClusterProviderConfig `default`.
    ///
    /// # Panics
    /// If any of it does not start.
    pub async fn start(options: StackOptions) -> Self {
        let room = ROOM.acquire().await.expect("never closed");
        let plane_options = ControlPlaneOptions {
            controller_manager: options.controller_manager,
            ..ControlPlaneOptions::default()
        };
        let (control_plane, aws) = tokio::join!(
            ControlPlane::start(plane_options),
            AwsEmulator::start(options.aws)
        );
        let control_plane = control_plane.unwrap_or_else(|error| panic!("{error}"));
        let aws = aws.unwrap_or_else(|error| panic!("{error}"));
        let cluster = Cluster::connect(&control_plane.kubeconfig()).await;
        let free = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let mut stack = Self {
            cluster,
            control_plane,
            aws,
            plugin: None,
            bridge: None,
            bridge_flags: options.bridge_flags,
            admin: free.to_string(),
            scratch: ScratchDir::new("crossbridge-e2e").expect("a scratch directory"),
            starts: AtomicU32::new(0),
            _room: room,
        };
        stack.start_plugin();
        stack.start_bridge();
        for name in [
            "clusterproviderconfigs.aws.crossbridge.dev",
            "buckets.s3.aws.crossbridge.dev",
            "queues.sqs.aws.crossbridge.dev",
        ] {
            stack
                .cluster
                .definition(name)
                .until("to be established", established)
                .await;
        }
        let credentials = options.credentials.unwrap_or_else(|| stack.aws.credentials());
        stack.configure(&credentials).await;
        stack
    }

    /// Where the logs of plugin and bridge lie.
    pub fn logs(&self) -> PathBuf {
        self.scratch.path().to_owned()
    }

    /// What plugin and bridge logged, all of it.
    pub fn logged(&self) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(self.scratch.path())
            .into_iter()
            .flatten()
            .flatten()
        {
            if entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "log")
            {
                all.push_str(&std::fs::read_to_string(entry.path()).unwrap_or_default());
            }
        }
        all
    }

    fn socket(&self) -> String {
        format!("unix://{}", self.scratch.path().join("plugin.sock").display())
    }

    fn log(&self, of: &str) -> PathBuf {
        self.scratch.path().join(format!(
            "{of}-{}.log",
            self.starts.fetch_add(1, Ordering::Relaxed)
        ))
    }

    /// Starts the AWS plugin.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start_plugin(&mut self) {
        let spawn = Spawn::new(binary("provider-aws-example"))
            .env("PROVIDER_PLUGIN_ENDPOINT", self.socket())
            .env("RUST_LOG", "info")
            .log_to(self.log("plugin"));
        self.plugin = Some(spawn.spawn().unwrap_or_else(|error| panic!("{error}")));
    }

    /// Starts the bridge.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start_bridge(&mut self) {
        let spawn = Spawn::new(binary("runtime-bridge"))
            .arg("serve")
            .arg("--kubeconfig")
            .arg(self.control_plane.kubeconfig())
            .args([
                "--plugin",
                &self.socket(),
                "--admin-address",
                &self.admin,
                "--clock-skew",
                "1s",
            ])
            .args(&self.bridge_flags)
            .env("CROSSBRIDGE_LOG_LEVEL", "info,bridge_engine::managed=debug")
            .log_to(self.log("bridge"));
        self.bridge = Some(spawn.spawn().unwrap_or_else(|error| panic!("{error}")));
    }

    /// `kill -9`, and waits until it is dead.
    pub async fn kill_plugin(&mut self) {
        if let Some(plugin) = self.plugin.take() {
            plugin.kill();
            plugin.wait().await;
        }
    }

    /// `kill -9`, and waits until it is dead.
    pub async fn kill_bridge(&mut self) {
        if let Some(bridge) = self.bridge.take() {
            bridge.kill();
            bridge.wait().await;
        }
    }

    /// SIGTERM to the bridge; its exit code.
    ///
    /// # Panics
    /// If it does not end within two minutes.
    pub async fn stop_bridge(&mut self) -> Option<i32> {
        let bridge = self.bridge.take().expect("a running bridge");
        bridge.signal(bridge_control_plane::process::Signal::TERM);
        bridge
            .wait_for(Duration::from_mins(2))
            .await
            .unwrap_or_else(|error| panic!("{error}"))
            .code()
    }

    /// The process of the bridge.
    ///
    /// # Panics
    /// If it does not run.
    pub fn bridge(&self) -> &Process {
        self.bridge.as_ref().expect("a running bridge")
    }

    /// The process of the plugin.
    ///
    /// # Panics
    /// If it does not run.
    pub fn plugin(&self) -> &Process {
        self.plugin.as_ref().expect("a running plugin")
    }

    /// Runs `runtime-bridge trace` about an object; what it printed, as JSON.
    ///
    /// # Panics
    /// If it fails.
    pub async fn trace(&self, object: &str) -> Value {
        let (send, lines) = std::sync::mpsc::channel();
        let trace = Spawn::new(binary("runtime-bridge"))
            .args([
                "trace",
                object,
                "-o",
                "json",
                "--admin-address",
                &self.admin,
                "--kubeconfig",
            ])
            .arg(self.control_plane.kubeconfig())
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        let ended = trace.wait_for(Duration::from_mins(1)).await;
        assert!(ended.is_ok_and(|status| status.success()), "trace {object} fails");
        let text: String = lines.iter().collect();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Runs the kubectl of the control plane's release as an administrator; what it printed.
    ///
    /// # Panics
    /// If it fails.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        let (send, lines) = std::sync::mpsc::channel();
        let errors = send.clone();
        let kubectl = Spawn::new(self.control_plane.kubectl())
            .args(arguments)
            .env("KUBECONFIG", self.control_plane.kubeconfig())
            .stdout(Output::lines(move |line| drop(send.send(line.to_owned()))))
            .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))))
            .spawn()
            .unwrap_or_else(|error| panic!("{error}"));
        let ended = kubectl.wait_for(Duration::from_mins(1)).await;
        let succeeded = ended.is_ok_and(|status| status.success());
        let printed = lines.iter().collect::<Vec<_>>().join("\n");
        assert!(succeeded, "kubectl {arguments:?}: {printed}");
        printed
    }

    /// A page of the bridge's admin endpoint.
    ///
    /// # Panics
    /// If there is no answer.
    pub async fn admin(&self, path: &str) -> String {
        let answer = reqwest::get(format!("http://{}{path}", self.admin))
            .await
            .expect("an answer of the admin endpoint");
        answer.text().await.expect("text")
    }

    /// How often the external resources of a kind have been observed, by its plural.
    ///
    /// # Panics
    /// If it is none of the four.
    pub fn polls(&self, plural: &str) -> u64 {
        use aws_emulator::Service::{CloudFront, DynamoDB, S3, Sqs};
        match plural {
            "buckets" => self.aws.calls(S3, "HeadBucket"),
            "queues" => self.aws.calls(Sqs, "GetQueueAttributes"),
            "tables" => self.aws.calls(DynamoDB, "DescribeTable"),
            "distributions" => self.aws.calls(CloudFront, "GetDistribution"),
            other => panic!("no kind has the plural {other}"),
        }
    }

    /// Creates the Secret with these keys.
    pub async fn create_secret(&self, credentials: &aws_emulator::Credentials) {
        self.cluster.secret("aws").create(secret(credentials)).await;
    }

    /// Writes the Secret and the ClusterProviderConfig `default`.
    async fn configure(&self, credentials: &aws_emulator::Credentials) {
        self.create_secret(credentials).await;
        let config = self.config("default");
        config
            .create(json!({
                "apiVersion": "aws.crossbridge.dev/v1alpha1",
                "kind": "ClusterProviderConfig",
                "spec": {
                    "settings": {"region": "us-east-1", "endpoint": self.aws.endpoint(), "pollInterval": "200ms"},
                    "credentials": {"source": "Secret", "secretRef": {"namespace": "default", "name": "aws"}},
                },
            }))
            .await;
    }

    /// The reasons of all events about the object of this name, in the order of their names.
    ///
    /// # Panics
    /// If they cannot be listed.
    pub async fn events(&self, name: &str) -> Vec<String> {
        use k8s_openapi::api::core::v1::Event;
        let events = kube::Api::<Event>::namespaced(self.cluster.client.clone(), &self.cluster.namespace);
        let all = events
            .list(&kube::api::ListParams::default())
            .await
            .expect("a list of events");
        all.items
            .into_iter()
            .filter(|event| event.involved_object.name.as_deref() == Some(name))
            .filter_map(|event| event.reason)
            .collect()
    }

    /// Replaces the keys in the Secret.
    pub async fn rotate(&self, credentials: &aws_emulator::Credentials) {
        self.cluster
            .secret("aws")
            .merge(json!({"stringData": secret(credentials)["stringData"]}))
            .await;
    }

    /// A handle to a ClusterProviderConfig, whether or not it exists.
    pub fn config(&self, name: &str) -> Handle {
        self.cluster.object(
            "aws.crossbridge.dev",
            "v1alpha1",
            "ClusterProviderConfig",
            "clusterproviderconfigs",
            name,
        )
    }

    /// A handle to an S3 bucket, whether or not it exists.
    pub fn bucket(&self, name: &str) -> Handle {
        self.cluster
            .object("s3.aws.crossbridge.dev", "v1alpha1", "Bucket", "buckets", name)
    }

    /// A handle to an SQS queue, whether or not it exists.
    pub fn queue(&self, name: &str) -> Handle {
        self.cluster
            .object("sqs.aws.crossbridge.dev", "v1alpha1", "Queue", "queues", name)
    }

    /// A handle to a DynamoDB table, whether or not it exists.
    pub fn table(&self, name: &str) -> Handle {
        self.cluster.object(
            "dynamodb.aws.crossbridge.dev",
            "v1alpha1",
            "Table",
            "tables",
            name,
        )
    }

    /// A handle to a CloudFront distribution, whether or not it exists.
    pub fn distribution(&self, name: &str) -> Handle {
        self.cluster.object(
            "cloudfront.aws.crossbridge.dev",
            "v1alpha1",
            "Distribution",
            "distributions",
            name,
        )
    }
}

impl Drop for Stack {
    /// A failed scenario prints the last lines of both logs.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let logged = self.logged();
            let lines: Vec<&str> = logged.lines().collect();
            let last = lines.len().saturating_sub(SHOWN);
            eprintln!("the last lines of the logs:\n{}", lines[last..].join("\n"));
        }
    }
}

fn secret(credentials: &aws_emulator::Credentials) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "stringData": {"accessKeyId": credentials.access_key_id, "secretAccessKey": credentials.secret_access_key},
    })
}

fn established(definition: &Value) -> bool {
    crate::condition(definition, "Established")["status"] == "True"
}
