//! A bridge that serves compositions and real plugins.

use std::{fs, path::PathBuf};

use bridge_control_plane::{
    Options,
    process::{Output, Process, ScratchDir, Spawn},
};
use bridge_languages::{Function, binary};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    LIMIT,
    processes::{Cluster, run},
};

/// A bridge with compositions, functions by their names, and the AWS plugin before an emulated AWS.
pub(crate) struct Composed {
    pub(crate) scratch: ScratchDir,
    pub(crate) cluster: Cluster,
    pub(crate) bridge: Process,
    /// Endpoint, id and key of the emulated AWS.
    pub(crate) aws: [String; 3],
    _others: Vec<Process>,
}

impl Composed {
    /// With another plugin beside it, if a command line is given.
    pub(crate) async fn start(functions: &[(Function, &str)], plugin: Option<&str>) -> Self {
        let scratch = ScratchDir::new("crossbridge-languages-").expect("a folder");
        // With the garbage collector, which every cluster has: it must find nothing to do.
        let cluster = Cluster::start_with(Options {
            controller_manager: true,
            ..Options::default()
        })
        .await;
        let socket = |name: &str| format!("unix://{}/{name}.sock", scratch.path().display());
        let (emulator, aws) = emulated_aws().await;
        let [_, id, key] = &aws;
        // Its own identity, for configs without credentials.
        let of_aws = Spawn::new(binary("provider-aws-example"))
            .env("PROVIDER_PLUGIN_ENDPOINT", socket("aws"))
            .env("AWS_ACCESS_KEY_ID", id)
            .env("AWS_SECRET_ACCESS_KEY", key);
        let mut others = vec![emulator, of_aws.spawn().expect("the plugin starts")];
        // By the skew of clocks a claim counts as older than the bridge, for which a predecessor may still create something.
        let mut flags = ["--compositions", "--clock-skew", "1s", "--plugin", &socket("aws")]
            .map(str::to_owned)
            .to_vec();
        if let Some(command) = plugin {
            others.push(run(command, &socket("other")));
            flags.extend(["--plugin".to_owned(), socket("other")]);
        }
        for (function, name) in functions {
            let command = function.command().await.unwrap_or_else(|error| panic!("{error}"));
            let process = command.args(["--insecure", "--address", &socket(name)]).spawn();
            others.push(process.expect("the function starts"));
            flags.extend(["--function".to_owned(), format!("{name}={}", socket(name))]);
        }
        let bridge = Spawn::new(binary("runtime-bridge"))
            .args(["serve", "--admin-address", "127.0.0.1:0", "--kubeconfig"])
            .arg(cluster.plane.kubeconfig())
            .args(flags)
            .spawn()
            .expect("the bridge starts");
        Self {
            scratch,
            cluster,
            bridge,
            aws,
            _others: others,
        }
    }

    /// What S3 answers to a request without a body. Signatures are not checked.
    pub(crate) async fn s3(&self, method: &str, path: &str) -> String {
        let [endpoint, id, _] = &self.aws;
        let host = endpoint.trim_start_matches("http://").trim_end_matches('/');
        let scope = format!("{id}/20260101/eu-west-1/s3/aws4_request");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\nconnection: close\r\n\
             authorization: AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0\r\n\r\n"
        );
        let mut stream = TcpStream::connect(host).await.expect("the emulator listens");
        stream.write_all(request.as_bytes()).await.expect("it is sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("an answer");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 2"), "{method} {path}: {answer}");
        answer
    }

    /// A manifest of the account.
    pub(crate) fn account(&self) -> PathBuf {
        let [endpoint, id, key] = &self.aws;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws", "namespace": "default"},
            "stringData": {"accessKeyId": id, "secretAccessKey": key},
        });
        let config = json!({
            "apiVersion": "aws.crossbridge.dev/v1alpha1", "kind": "ClusterProviderConfig", "metadata": {"name": "default"},
            "spec": {
                "settings": {"region": "eu-west-1", "endpoint": endpoint, "pollInterval": "1s"},
                "credentials": {"source": "Secret", "secretRef": {"namespace": "default", "name": "aws"}},
            },
        });
        let file = self.scratch.path().join("account.yaml");
        fs::write(&file, format!("{secret}\n---\n{config}\n")).expect("it is written");
        file
    }
}

/// The process, and what it prints: endpoint, id and key.
async fn emulated_aws() -> (Process, [String; 3]) {
    let (say, said) = std::sync::mpsc::channel();
    let process = Spawn::new(binary("aws-emulator"))
        .arg("--detached")
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))))
        .spawn()
        .expect("the emulator starts");
    let values = tokio::task::spawn_blocking(move || {
        ["endpoint", "access_key_id", "secret_access_key"].map(|name| {
            let line = said.recv_timeout(LIMIT).expect("a line of the emulator");
            let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
            value.unwrap_or_else(|| panic!("{name}: {line}")).to_owned()
        })
    });
    (process, values.await.expect("it waits"))
}
