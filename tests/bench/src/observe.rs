//! What an idle Observe costs in each language: the same small plugin, text files in a folder, asked for a file that does not change.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Process, ScratchDir, Spawn};
use bridge_languages::{Author, NewPlugin, binary};
use bridge_transport::Endpoint;
use crossbridge_proto::v1alpha1::{
    self as wire, observe_response, resource_service_client::ResourceServiceClient,
};
use serde_json::json;
use tonic::{Request, transport::Channel};

use crate::usage::busy_seconds;

/// Calls before the first that counts: code is compiled and connections are open by then.
const WARM_UP: u32 = 1000;
/// The languages take turns, so that what else the machine does meets all of them.
const ROUNDS: u32 = 5;

/// A plugin that serves one file.
struct Subject {
    author: Author,
    process: Process,
    client: ResourceServiceClient<Channel>,
    request: wire::ObserveRequest,
    times: Vec<Duration>,
    busy_seconds: f64,
}

pub(crate) async fn measure(calls: u32) {
    let scratch = ScratchDir::new("crossbridge-bench-").expect("a folder");
    let mut subjects = Vec::new();
    for author in Author::ALL {
        let folder = scratch.path().join(author.name());
        fs::create_dir(&folder).expect("it is created");
        subjects.push(Subject::start(author, &folder).await);
    }
    for subject in &mut subjects {
        subject.observe(WARM_UP).await;
        subject.times.clear();
        subject.busy_seconds = 0.0;
    }
    for _ in 0..ROUNDS {
        for subject in &mut subjects {
            subject.observe(calls / ROUNDS).await;
        }
    }
    println!("{calls} calls each, one after another, in {ROUNDS} rounds\n");
    println!(
        "| plugin in | median | 99 % below | processor time of the plugin per call | to Rust | resident |"
    );
    println!("|---|---|---|---|---|---|");
    let rust = subjects.first().map_or(0.0, Subject::busy_micros);
    for subject in &mut subjects {
        subject.times.sort_unstable();
        println!(
            "| {} | {} µs | {} µs | {:.0} µs | {:.1} | {:.0} MB |",
            subject.author.name(),
            subject.quantile(50).as_micros(),
            subject.quantile(99).as_micros(),
            subject.busy_micros(),
            subject.busy_micros() / rust,
            crate::usage::resident_kb(&subject.process) / 1024.0,
        );
    }
}

impl Subject {
    async fn start(author: Author, scratch: &Path) -> Self {
        let (command, kind, group) = build(author, scratch).await;
        let files = scratch.join("files");
        fs::create_dir(&files).expect("it is created");
        fs::write(files.join("notes.txt"), "Buy milk.").expect("it is written");
        let endpoint = format!("unix://{}", scratch.join("plugin.sock").display());
        let mut words = command.split(' ');
        let process = Spawn::new(words.next().unwrap_or_default())
            .args(words)
            .env("PROVIDER_PLUGIN_ENDPOINT", &endpoint)
            .log_to(scratch.join("plugin.log"))
            .spawn()
            .expect("the plugin starts");
        let endpoint: Endpoint = endpoint.parse().expect("an endpoint");
        let channel = endpoint.channel(None).expect("a channel");
        let mut subject = Self {
            author,
            process,
            client: ResourceServiceClient::new(channel),
            request: request(kind, &group, &files),
            times: Vec::new(),
            busy_seconds: 0.0,
        };
        let begun = Instant::now();
        while subject.client.observe(subject.request()).await.is_err() {
            assert!(
                begun.elapsed() < Duration::from_mins(1),
                "{} does not answer",
                author.name()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        subject
    }

    fn request(&self) -> Request<wire::ObserveRequest> {
        let mut request = Request::new(self.request.clone());
        request.set_timeout(Duration::from_secs(30));
        request
    }

    async fn observe(&mut self, calls: u32) {
        let before = busy_seconds(&self.process);
        for _ in 0..calls {
            let request = self.request();
            let begun = Instant::now();
            let response = self.client.observe(request).await.expect("it answers");
            self.times.push(begun.elapsed());
            let result = response.into_inner().result;
            assert!(
                matches!(result, Some(observe_response::Result::Observation(_))),
                "{result:?}"
            );
        }
        self.busy_seconds += busy_seconds(&self.process) - before;
    }

    fn busy_micros(&self) -> f64 {
        let calls = u32::try_from(self.times.len()).unwrap_or(u32::MAX).max(1);
        self.busy_seconds * 1e6 / f64::from(calls)
    }

    /// Of times that are sorted.
    fn quantile(&self, percent: usize) -> Duration {
        let at = self.times.len() * percent / 100;
        self.times.get(at).copied().unwrap_or_default()
    }
}

/// Its command, kind and group. In Rust that is the example, built with the profile of this program; else a new plugin.
async fn build(author: Author, scratch: &Path) -> (String, &'static str, String) {
    if author == Author::Rust {
        let command = binary("files-plugin").display().to_string();
        return (command, "File", "files.example.org".to_owned());
    }
    let plugin = NewPlugin::create(author, "bench", "Shelf", false, scratch).await;
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    let built = plugin
        .run_printed_commands(|line| !line.contains("conformance"))
        .await;
    built.unwrap_or_else(|error| panic!("{error}"));
    (plugin.command(), "Shelf", "bench.example.org".to_owned())
}

fn request(kind: &str, group: &str, files: &Path) -> wire::ObserveRequest {
    let document = |json: serde_json::Value| {
        Some(wire::Document {
            json: json.to_string(),
        })
    };
    wire::ObserveRequest {
        target: Some(wire::Target {
            resource_type: Some(wire::ResourceType {
                group: group.to_owned(),
                version: "v1alpha1".to_owned(),
                kind: kind.to_owned(),
            }),
            config: Some(wire::ConfigContext {
                config_id: "bench".to_owned(),
                revision: "1".to_owned(),
                settings: document(json!({ "folder": files })),
                ..Default::default()
            }),
            owner: Some(wire::ObjectRef {
                namespace: "default".to_owned(),
                name: "notes.txt".to_owned(),
                uid: "7d2f6a1e-9c0b-4c55-8f0e-3f4f6f1f0c11".to_owned(),
                generation: 1,
            }),
            external_name: "notes.txt".to_owned(),
            ownership_marker: "cb-bench".to_owned(),
            ..Default::default()
        }),
        desired: Some(wire::DesiredState {
            parameters: document(json!({ "content": "Buy milk." })),
            ..Default::default()
        }),
    }
}
