//! Plugin and bridge are killed at random moments while objects are created, changed and deleted at random; then each external resource is counted.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bridge_control_plane::process::{Process, ScratchDir, Spawn};
use bridge_languages::{Language, binary};
use fastrand::Rng;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    LIMIT,
    processes::{Cluster, Plugin},
    subject::{Subject, changed, created},
    test_object::{condition, is_true},
    upstream::External,
};

/// Objects that exist at once.
const MOST_OBJECTS: usize = 24;
/// Between two of the user's changes, and between two kills, in milliseconds.
const CHANGES: std::ops::Range<u64> = 30..200;
const KILLS: std::ops::Range<u64> = 200..1500;
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// An object of the run, by its kind and name.
type Key = (&'static str, String);

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Tally {
    created: u32,
    changed: u32,
    deleted: u32,
    plugin_killed: u32,
    bridge_killed: u32,
}

impl Tally {
    /// Of the process that was killed least.
    fn fewest_kills(self) -> u32 {
        self.plugin_killed.min(self.bridge_killed)
    }
}

/// What is wrong with the external resources: all empty, if nothing is.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdict {
    /// Created more than once for one object.
    doubled: Vec<External>,
    /// No object has it any more.
    leaked: BTreeSet<(String, String)>,
    /// An object has it, and it does not exist.
    lost: BTreeSet<(String, String)>,
}

impl Verdict {
    /// `named` are the external names that the objects hold, by kind.
    fn of(externals: &[External], named: &BTreeSet<(String, String)>) -> Self {
        let mut by_owner: BTreeMap<(&str, &str), Vec<&External>> = BTreeMap::new();
        for external in externals {
            let owner = (external.kind.as_str(), external.marker.as_str());
            by_owner.entry(owner).or_default().push(external);
        }
        let doubled = by_owner.values().filter(|all| all.len() > 1).flatten();
        let existing: BTreeSet<(String, String)> = externals
            .iter()
            .filter(|external| external.exists)
            .map(|external| (external.kind.clone(), external.name.clone()))
            .collect();
        Self {
            doubled: doubled.copied().cloned().collect(),
            leaked: existing.difference(named).cloned().collect(),
            lost: named.difference(&existing).cloned().collect(),
        }
    }
}

struct Soak {
    subject: Subject,
    random: Rng,
    scratch: ScratchDir,
    cluster: Cluster,
    plugin: Plugin,
    bridge: Process,
    objects: Vec<Key>,
    tally: Tally,
}

impl Soak {
    async fn start(subject: Subject, seed: u64) -> Self {
        let scratch = ScratchDir::new("crossbridge-soak-").expect("a folder");
        let cluster = Cluster::start().await;
        let plugin = subject.start(scratch.path()).await;
        let bridge = start_bridge(&cluster, &plugin, scratch.path(), 0);
        let folder = scratch.path().join(subject.group());
        std::fs::create_dir(&folder).expect("it is created");
        cluster.configure(subject.group(), &folder).await;
        Self {
            subject,
            random: Rng::with_seed(seed),
            scratch,
            cluster,
            plugin,
            bridge,
            objects: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.scratch.path().join(self.subject.group())
    }

    fn api(&self, kind: &str) -> Api<DynamicObject> {
        self.cluster.api(self.subject.group(), "v1alpha1", kind)
    }

    /// Changes and kills, each at moments of its own, until time is up and each process was killed.
    async fn run(&mut self, seconds: u64) {
        let begun = Instant::now();
        let end = begun + Duration::from_secs(seconds);
        let mut change_at = begun;
        let mut kill_at = begun + self.draw(KILLS);
        while change_at.min(kill_at) < end || self.tally.fewest_kills() == 0 {
            tokio::time::sleep_until(change_at.min(kill_at).into()).await;
            if change_at <= kill_at {
                self.change().await;
                change_at = Instant::now() + self.draw(CHANGES);
            } else {
                self.kill().await;
                kill_at = Instant::now() + self.draw(KILLS);
            }
        }
    }

    fn draw(&mut self, milliseconds: std::ops::Range<u64>) -> Duration {
        Duration::from_millis(self.random.u64(milliseconds))
    }

    /// The plugin, the bridge, or both; at first each of them once, whatever the seed.
    async fn kill(&mut self) {
        let which = match (self.tally.plugin_killed, self.tally.bridge_killed) {
            (0, _) => 0,
            (_, 0) => 1,
            _ => self.random.u8(0..3),
        };
        if which != 1 {
            self.tally.plugin_killed += 1;
            self.plugin.kill().await;
        }
        if which != 0 {
            self.tally.bridge_killed += 1;
            self.bridge.kill();
            self.bridge.wait().await;
            let number = self.tally.bridge_killed;
            self.bridge = start_bridge(&self.cluster, &self.plugin, self.scratch.path(), number);
        }
    }

    /// One object more, one changed, or one fewer.
    async fn change(&mut self) {
        let room = MOST_OBJECTS.saturating_sub(self.objects.len());
        if self.random.usize(0..MOST_OBJECTS) < room {
            return self.create().await;
        }
        let at = self.random.usize(0..self.objects.len());
        if self.random.u8(0..3) == 0 {
            let (kind, name) = self.objects.swap_remove(at);
            self.tally.deleted += 1;
            let deleted = self.api(kind).delete(&name, &DeleteParams::default()).await;
            deleted.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
            return;
        }
        let (kind, name) = self.objects[at].clone();
        self.tally.changed += 1;
        let parameters = changed(kind, &mut self.random);
        let patch = Patch::Merge(json!({ "spec": { "forProvider": parameters } }));
        let patched = self.api(kind).patch(&name, &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    async fn create(&mut self) {
        let kinds = self.subject.kinds();
        let kind = kinds[self.random.usize(0..kinds.len())];
        self.tally.created += 1;
        let name = format!("number-{}", self.tally.created);
        let reference = json!({ "kind": "ProviderConfig", "name": "default" });
        let parameters = created(kind, &name, &mut self.random);
        let object = json!({
            "metadata": { "name": name },
            "spec": { "providerConfigRef": reference, "forProvider": parameters },
        });
        self.cluster
            .create(self.subject.group(), "v1alpha1", kind, object)
            .await;
        self.objects.push((kind, name));
    }

    /// All objects of a kind, as the API server has them.
    async fn list(&self, kind: &str) -> Vec<DynamicObject> {
        let listed = self.api(kind).list(&ListParams::default()).await;
        listed.unwrap_or_else(|error| panic!("{kind}: {error}")).items
    }

    /// Waits until every object is as desired, and what was deleted is gone; the external names that are left.
    async fn settle(&self) -> BTreeSet<(String, String)> {
        let end = Instant::now() + LIMIT;
        loop {
            let mut unsettled: Vec<Value> = Vec::new();
            let mut named = BTreeSet::new();
            for kind in self.subject.kinds() {
                let expected = self.objects.iter().filter(|(of, _)| of == kind);
                let mut missing: BTreeSet<&str> = expected.map(|(_, name)| name.as_str()).collect();
                let listed = self.list(kind).await;
                for object in &listed {
                    let name = object.metadata.name.as_deref().unwrap_or_default();
                    if !missing.remove(name) || !is_settled(object) {
                        unsettled
                            .push(json!({ "kind": kind, "name": name, "status": object.data["status"] }));
                    }
                    let annotations = object.metadata.annotations.iter().flatten();
                    let external = annotations.filter(|(key, _)| *key == "crossplane.io/external-name");
                    named.extend(external.map(|(_, name)| ((*kind).to_owned(), name.clone())));
                }
                assert!(missing.is_empty(), "{kind}: the API server has lost {missing:?}");
            }
            if unsettled.is_empty() {
                return named;
            }
            assert!(
                Instant::now() < end,
                "{} objects do not settle within {LIMIT:?}: {unsettled:#?}",
                unsettled.len()
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn delete_all(&mut self) {
        for (kind, name) in std::mem::take(&mut self.objects) {
            let deleted = self.api(kind).delete(&name, &DeleteParams::default()).await;
            deleted.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
        }
    }

    fn count(&self, named: &BTreeSet<(String, String)>) -> Verdict {
        Verdict::of(&self.subject.externals(&self.folder()), named)
    }
}

fn start_bridge(cluster: &Cluster, plugin: &Plugin, scratch: &Path, number: u32) -> Process {
    Spawn::new(binary("runtime-bridge"))
        .args(["serve", "--admin-address", "127.0.0.1:0", "--kubeconfig"])
        .arg(cluster.plane.kubeconfig())
        .args(["--plugin", &plugin.endpoint])
        .log_to(scratch.join(format!("bridge-{number}.log")))
        .spawn()
        .expect("the bridge starts")
}

fn is_settled(object: &DynamicObject) -> bool {
    let synced = condition(object, "Synced");
    let is_seen = synced.is_some_and(|one| one["observedGeneration"].as_i64() == object.metadata.generation);
    is_seen
        && is_true(object, "Synced")
        && is_true(object, "Ready")
        && object.metadata.deletion_timestamp.is_none()
}

fn from_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}")),
    )
}

async fn survives_kills(subject: Subject) {
    let name = subject.name();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = from_environment("SOAK_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    let seconds = from_environment("SOAK_SECONDS").unwrap_or(subject.seconds());
    println!("{name}: SOAK_SEED={seed} SOAK_SECONDS={seconds}");
    let mut soak = Soak::start(subject, seed).await;
    soak.run(seconds).await;
    let named = soak.settle().await;
    assert_eq!(
        soak.count(&named),
        Verdict::default(),
        "with all objects: {:?}",
        soak.tally
    );
    soak.delete_all().await;
    let named = soak.settle().await;
    assert_eq!(
        soak.count(&named),
        Verdict::default(),
        "with none: {:?}",
        soak.tally
    );
    println!("{name}: {:?}: none doubled, none leaked, none lost", soak.tally);
    assert!(
        soak.tally.created.min(soak.tally.fewest_kills()) > 0,
        "nothing was tried: {:?}",
        soak.tally
    );
}

#[tokio::test]
async fn the_plugin_in_python_survives_kills() {
    survives_kills(Subject::Example(Language::Python)).await;
}

#[tokio::test]
async fn the_plugin_in_go_survives_kills() {
    survives_kills(Subject::Example(Language::Go)).await;
}

#[tokio::test]
async fn the_plugin_in_typescript_survives_kills() {
    survives_kills(Subject::Example(Language::TypeScript)).await;
}

#[tokio::test]
async fn the_page_of_rust_survives_kills() {
    survives_kills(Subject::Files).await;
}

#[tokio::test]
async fn a_new_plugin_in_python_survives_kills() {
    survives_kills(Subject::Scaffold(Language::Python)).await;
}

#[tokio::test]
async fn a_new_plugin_in_go_survives_kills() {
    survives_kills(Subject::Scaffold(Language::Go)).await;
}

#[tokio::test]
async fn a_new_plugin_in_typescript_survives_kills() {
    survives_kills(Subject::Scaffold(Language::TypeScript)).await;
}

#[test]
fn what_is_doubled_leaked_or_lost_is_found() {
    let external = |name: &str, marker: &str, exists| External {
        kind: "Bed".to_owned(),
        name: name.to_owned(),
        marker: marker.to_owned(),
        exists,
    };
    let named = |names: &[&str]| -> BTreeSet<(String, String)> {
        names
            .iter()
            .map(|name| ("Bed".to_owned(), (*name).to_owned()))
            .collect()
    };
    let all = [
        external("a", "1", true),
        external("b", "2", false),
        external("c", "3", true),
    ];
    assert_eq!(Verdict::of(&all, &named(&["a", "c"])), Verdict::default());
    let twice = [external("a", "1", false), external("b", "1", true)];
    assert_eq!(Verdict::of(&twice, &named(&["b"])).doubled, twice);
    let wrong = Verdict::of(&all, &named(&["a", "b"]));
    assert_eq!((wrong.leaked, wrong.lost), (named(&["c"]), named(&["b"])));
}
