//! What became of the good ones.

use std::{
    fmt,
    path::PathBuf,
    time::{Duration, Instant},
};

use bridge_e2e::is_synced;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{CANARY, GROUP, HOSTILE, MINE, Scene};

/// How often each good object is changed, and must come into sync.
const ROUNDS: u32 = 3;

/// Every wait ends after this.
const LIMIT: Duration = Duration::from_mins(2);

/// What the bridge may use, as RSS at its highest.
const MEMORY_MIB: u64 = 512;

/// What was measured under an attack: for the table in SECURITY.md. Times are judged by nobody.
#[derive(Debug)]
pub struct Verdict {
    attack: String,
    peak_mib: u64,
    delay_p50: Duration,
    delay_p99: Duration,
    slowest_livez: Duration,
    writes: u64,
    events: usize,
}

impl Scene {
    /// Changes the good objects again and again while the attack goes on, and judges.
    ///
    /// # Panics
    /// If anything of the invariant does not hold; it says what.
    pub async fn verdict(&self, attack: &str) -> Verdict {
        self.verdict_within(attack, MEMORY_MIB).await
    }

    /// Likewise, where the bridge may use so much.
    ///
    /// # Panics
    /// As [`verdict`](Self::verdict).
    pub async fn verdict_within(&self, attack: &str, memory_mib: u64) -> Verdict {
        let livez = self.ask_livez();
        let before = self.writes().await;
        let mut delays = Vec::new();
        for round in 0..ROUNDS {
            delays.extend(self.round(&format!("{attack}-{round}")).await);
        }
        let writes = self.writes().await.saturating_sub(before);
        let slowest_livez = livez.stop().await;
        assert_eq!(
            self.bridge.status(),
            None,
            "the bridge ended: {}",
            self.last_lines()
        );
        assert_eq!(
            self.definition_versions().await,
            self.definitions,
            "CRDs of the good plugin were written"
        );
        self.assert_the_canary_is_told_nowhere().await;
        let peak_mib = self.peak_mib();
        assert!(
            peak_mib < memory_mib,
            "the bridge took {peak_mib} MiB at its highest"
        );
        delays.sort();
        let events = self.list("", "v1", "Event").await;
        let verdict = Verdict {
            attack: attack.to_owned(),
            peak_mib,
            delay_p50: delays[delays.len() / 2],
            delay_p99: delays[delays.len() * 99 / 100],
            slowest_livez,
            writes,
            events: events["items"].as_array().map_or(0, Vec::len),
        };
        verdict.keep();
        verdict
    }

    /// Changes each of the good objects once; how long each took until its status showed it.
    async fn round(&self, variety: &str) -> Vec<Duration> {
        let begun = Instant::now();
        self.merge_all(&json!({"spec": {"forProvider": {"variety": variety}}}))
            .await;
        let mut delays = std::collections::BTreeMap::new();
        loop {
            let plants = self.plants().await;
            for plant in &plants {
                if plant["status"]["atProvider"]["variety"] == variety && is_synced(plant) {
                    let name = plant["metadata"]["name"].to_string();
                    delays.entry(name).or_insert_with(|| begun.elapsed());
                }
            }
            if delays.len() == plants.len() {
                return delays.into_values().collect();
            }
            assert!(
                begun.elapsed() < LIMIT,
                "{} of {} good objects are in sync after {LIMIT:?}: {}",
                delays.len(),
                plants.len(),
                self.last_lines()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn ask_livez(&self) -> Livez {
        let url = format!("http://{}/livez", self.admin_address());
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let asking = tokio::spawn(async move {
            let client = reqwest::Client::builder()
                .timeout(Duration::from_secs(30))
                .build()
                .expect("a client");
            let mut slowest = Duration::ZERO;
            while stopped.try_recv().is_err() {
                let begun = Instant::now();
                let answer = client.get(&url).send().await;
                let status = answer.map(|answer| answer.status().as_u16());
                assert!(matches!(status, Ok(200)), "/livez: {status:?}");
                slowest = slowest.max(begun.elapsed());
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            slowest
        });
        Livez { stop, asking }
    }

    /// Requests of the bridge that change something, events aside.
    async fn writes(&self) -> u64 {
        let (_, metrics) = self.admin("/metrics").await.expect("its metrics");
        let requests = metrics
            .lines()
            .filter(|line| line.contains("api_requests_total{"));
        requests
            .filter(|line| {
                let of = |part: &str| line.contains(part);
                !of("verb=\"get\"") && !of("verb=\"list\"") && !of("verb=\"watch\"") && !of("\"events\"")
            })
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    }

    async fn assert_the_canary_is_told_nowhere(&self) {
        let mut shown: Vec<(String, String)> = Vec::new();
        for (group, kind) in [
            (GROUP, "Plant"),
            (HOSTILE, MINE),
            (GROUP, "ClusterProviderConfig"),
            (GROUP, "ProviderConfig"),
            (HOSTILE, "ProviderConfig"),
        ] {
            let all = self.list(group, "v1alpha1", kind).await;
            shown.push((kind.to_owned(), all.to_string()));
        }
        shown.push(("Event".to_owned(), self.list("", "v1", "Event").await.to_string()));
        for page in ["/metrics", "/debug/state", "/debug/objects", "/readyz"] {
            let (_, text) = self.admin(page).await.expect("an answer");
            shown.push((page.to_owned(), text));
        }
        shown.push(("the log".to_owned(), self.logged()));
        for (place, text) in shown {
            for form in [CANARY.to_owned(), base64()] {
                let at = text.find(&form);
                let around = at.map(|at| text[..at].chars().rev().take(200).collect::<Vec<_>>());
                let before = around.map(|around| around.into_iter().rev().collect::<String>());
                assert_eq!(before, None, "{place} tells the canary, after this");
            }
        }
    }

    /// RSS of the bridge at its highest, in MiB.
    fn peak_mib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.bridge.id())).expect("a process");
        let line = status.lines().find(|line| line.starts_with("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
        kib.expect("its highest RSS") >> 10
    }
}

/// Asks `/livez` until it is stopped.
struct Livez {
    stop: tokio::sync::oneshot::Sender<()>,
    asking: JoinHandle<Duration>,
}

impl Livez {
    async fn stop(self) -> Duration {
        let _ = self.stop.send(());
        self.asking.await.expect("every answer was 200")
    }
}

/// Of the canary, as it may be told in a document.
fn base64() -> String {
    use crossbridge_sdk::serde_json::Value;
    let encoded = k8s_openapi::ByteString(CANARY.as_bytes().to_vec());
    match crossbridge_sdk::serde_json::to_value(encoded) {
        Ok(Value::String(text)) => text,
        other => panic!("no text: {other:?}"),
    }
}

impl Verdict {
    /// A file per attack, from which the table in SECURITY.md is made.
    fn keep(&self) {
        let test = std::env::current_exe().expect("a test knows its own path");
        let target: PathBuf = test.ancestors().nth(3).expect("target/PROFILE/deps").into();
        let folder = target.join("hostile");
        let row: Value = json!({
            "attack": self.attack,
            "row": self.to_string(),
        });
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(format!("{}.json", self.attack)), row.to_string()))
            .expect("it is kept");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} |",
            self.attack,
            self.peak_mib,
            self.delay_p50.as_millis(),
            self.delay_p99.as_millis(),
            self.slowest_livez.as_millis(),
            self.writes,
            self.events,
        )
    }
}
