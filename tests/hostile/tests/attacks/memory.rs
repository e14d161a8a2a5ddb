//! Plugins whose answers are as large as can be.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use bridge_hostile::{Attack, HOSTILE, Held, HostilePlugin, MINE, Scene, kind, observed};
use crossbridge_proto::v1alpha1::{
    Document, GetPluginInfoResponse, Observation, ObserveRequest, ObserveResponse, ResourceKind,
};
use serde_json::json;
use tonic::Status;

/// Something that was never said before.
fn anew() -> u64 {
    static SAID: AtomicU64 = AtomicU64::new(0);
    SAID.fetch_add(1, Ordering::Relaxed)
}

const AT_ONCE: Option<prost_types::Duration> = Some(prost_types::Duration { seconds: 1, nanos: 0 });

/// Nearly as much as an answer may have.
const ANSWER: usize = 3 << 20;

/// Nearly as much as the API server stores of an object.
const STORED: usize = 1 << 20;

/// So much and a bit more, never the same.
fn huge(size: usize) -> Document {
    let many: Vec<u64> = vec![anew(); 30_000];
    let document = json!({ "many": many, "long": "x".repeat(size) });
    Document {
        json: document.to_string(),
    }
}

struct Huge;

#[tonic::async_trait]
impl Attack for Huge {
    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let observation = Observation {
            parameters: Some(huge(ANSWER)),
            observe_after: AT_ONCE,
            ..Observation::default()
        };
        Ok(observed(&request, observation))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_as_large_as_can_be_fill_no_memory() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, Huge)).await;
    scene.traps(100).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "True").await;
    scene.verdict("huge-answers").await;
}

/// Calls of one plugin that are under way at once, at most.
const MOST: usize = 64;

/// What the bridge's pod may use: 512 are promised of one such plugin alone.
const POD_MIB: u64 = 1024;

/// Its kinds.
const KINDS: [&str; 4] = [MINE, "Snare", "Pit", "Net"];

/// With all that an answer may have in what is compared, or with a status that is stored.
struct AllKinds {
    group: &'static str,
    in_status: bool,
}

#[tonic::async_trait]
impl Attack for AllKinds {
    fn info(&self) -> GetPluginInfoResponse {
        GetPluginInfoResponse {
            name: self.group.into(),
            instance_id: self.group.into(),
            ..Huge.info()
        }
    }

    fn kinds(&self) -> Vec<ResourceKind> {
        KINDS.map(|name| kind(self.group, name)).into()
    }

    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let document = Some(huge(if self.in_status { STORED } else { ANSWER }));
        let observation = Observation {
            observe_after: AT_ONCE,
            ..Observation::default()
        };
        let observation = if self.in_status {
            Observation {
                status: document,
                ..observation
            }
        } else {
            Observation {
                parameters: document,
                ..observation
            }
        };
        Ok(observed(&request, observation))
    }
}

/// Its objects, of all kinds and of two accounts.
async fn all_kinds(scene: &Scene, group: &str, each: usize) {
    for namespace in ["evil", "worse"] {
        scene.config_of(group, namespace).await;
        for kind in KINDS {
            scene.traps_of(group, kind, namespace, each).await;
        }
    }
}

/// Puts them there, with the ends of their answers held until there are as many as there can be.
async fn all_at_once(groups: &[&'static str], in_status: bool) -> Scene {
    let scene = Scene::with_plugins(groups.iter().map(|group| {
        move |socket: &Path| {
            HostilePlugin::serve_held(socket, AllKinds { group, in_status }, Held::until(MOST))
        }
    }))
    .await;
    for namespace in ["evil", "worse"] {
        scene.namespace(namespace).await;
    }
    for group in groups {
        // What is stored is listed by the test, too.
        all_kinds(&scene, group, if in_status { 5 } else { 20 }).await;
    }
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_answers_at_once_as_there_can_be_fill_no_memory() {
    let scene = all_at_once(&[HOSTILE], false).await;
    scene.verdict("huge-answers-at-once").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn as_much_status_at_once_as_there_can_be_fills_no_memory() {
    let scene = all_at_once(&[HOSTILE], true).await;
    scene.verdict("huge-status-at-once").await;
}

/// What is sent in place of each answer of [`Huge`]: 4 MiB of empty diffs, of two bytes each and of eighty in memory.
fn empty_diffs() -> Vec<u8> {
    // `observation` of the answer, so many bytes long, and nothing in it but `diffs`, each of no length.
    const EACH: [u8; 2] = [0x4a, 0];
    const MANY: usize = 0x1f_0000;
    let of_length_3e_0000 = [0x0a, 0x80, 0x80, 0xf8, 0x01];
    [&of_length_3e_0000[..], &EACH.repeat(MANY)].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_messages_take_no_more_than_they_say() {
    let scene = Scene::with_plugin(|socket| {
        HostilePlugin::serve_held(socket, Huge, Held::until(4).sending(&empty_diffs()))
    })
    .await;
    scene.traps(20).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "False").await;
    scene.verdict("empty-messages").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_without_end_are_given_up() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve_held(socket, Huge, Held::endless())).await;
    scene.traps(20).await;
    scene.until_all(HOSTILE, MINE, "evil", "Synced", "False").await;
    scene.verdict("endless-answers").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_two_plugins_at_once_fill_no_memory() {
    let scene = all_at_once(&[HOSTILE, "worse.example.org"], false).await;
    scene.verdict_within("huge-answers-of-two", POD_MIB).await;
}
