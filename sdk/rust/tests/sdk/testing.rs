//! A plugin in a unit test: the wire's checks without a wire, kills at chosen points, and the report on each bad plugin.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use crate::thing::{self, Mood, Settings, Thing};
use crossbridge_sdk::{
    Effect, FailureCode,
    prelude::*,
    testing::{Code, ConfigVerdict, Cut, Harness, OutcomeResult, cut_once},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::task::yield_now;

fn harness() -> (TempDir, Harness) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = Settings {
        folder: folder.path().to_owned(),
    };
    let harness = Harness::new(thing::plugin)
        .settings(&settings)
        .credential("key", "sesame");
    (folder, harness)
}

#[tokio::test]
async fn a_resource_passes_its_lifecycle() {
    let (folder, harness) = harness();
    let identity = folder.path().display().to_string();
    assert_eq!(harness.check_config().await, ConfigVerdict::Usable { identity });
    let mut thing = harness
        .resource::<Thing>(&thing::Parameters {
            size: Some(9_007_199_254_740_993),
            ..Default::default()
        })
        .named("a-thing")
        .sensitive("/password", "sesame");
    assert_eq!(thing.observe().await.absent(), "");
    let made = thing.create().await.outcome();
    assert_eq!(made.connection_details.0["password"], b"sesame");
    assert_eq!(made.warnings[0].reason, "Fragile");
    let found = thing.observe().await.found();
    assert_eq!(found.parameters.size, Some(9_007_199_254_740_993));
    assert!(found.status.is_some_and(|status| status.bytes > 0));
    assert!(found.observation.ready);

    thing.set_parameters(&json!({"size": 2}));
    thing.update().await.completed();
    assert_eq!(thing.observe().await.found().parameters.size, Some(2));
    assert!(!thing.delete().await.completed().already_done);
    assert!(thing.delete().await.completed().already_done);
    let gone = thing.update().await.failure();
    assert_eq!((gone.code, gone.effect), (FailureCode::NotFound, Effect::None));
}

#[tokio::test]
async fn the_wire_rejects_what_the_harness_rejects() {
    let (_folder, harness) = harness();
    let nameless = harness
        .resource::<Thing>(&json!({"size": 1}))
        .delete()
        .await
        .status();
    assert_eq!(nameless.code(), Code::InvalidArgument);
    assert!(nameless.message().contains("target.external_name"), "{nameless}");
    let misnamed = harness
        .resource::<Thing>(&json!({"size": 1}))
        .named("A Thing")
        .create()
        .await
        .failure();
    assert_eq!(misnamed.code, FailureCode::InvalidSpec);
    let of_another_type = harness
        .resource::<Thing>(&json!({"size": "large"}))
        .named("a-thing")
        .create()
        .await
        .failure();
    assert_eq!(of_another_type.violations[0].path, "/size");

    let parameters = json!({"mood": Mood::BadDetails});
    let out_of_form = harness
        .resource::<Thing>(&parameters)
        .named("a-thing")
        .create()
        .await
        .failure();
    assert_eq!(out_of_form.reason, "InvalidAnswer");

    let lacking = Harness::new(thing::plugin)
        .settings(&json!({"folder": "/"}))
        .credential("key", "");
    let answer = lacking
        .resource::<Thing>(&json!({}))
        .named("a-thing")
        .observe()
        .await;
    assert_eq!(answer.failure().code, FailureCode::Unauthenticated);
}

#[tokio::test]
async fn a_restarted_plugin_follows_an_operation_begun_before() {
    let (_folder, harness) = harness();
    let mut job = harness.resource::<thing::job::Job>(&json!({"steps": 3}));
    let operation = job.create().await.operation();
    assert_eq!(
        (operation.handle.as_str(), job.external_name()),
        ("steps:3", "job-7")
    );
    for state in ["1", "2"] {
        harness.restart();
        job.poll().await.operation();
        assert_eq!(job.provider_state(), state);
    }
    harness.restart();
    job.poll().await.completed();
    let ended = job.poll().await.status();
    assert_eq!(ended.code(), Code::InvalidArgument, "there is no handle any more");
}

#[tokio::test]
#[should_panic(expected = "kind Thing.things.example.org/v1 is registered twice")]
async fn mistakes_in_declarations_are_reported() {
    drop(Harness::new(|| thing::plugin().resource(Thing)));
}

/// Disks by their ids, each with the token that created it.
#[derive(Clone, Default)]
struct Cloud(Arc<Mutex<BTreeMap<String, String>>>);

impl Cloud {
    fn disks(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.0.lock().expect("no holder panics")
    }

    fn made_by(&self, token: &str) -> Vec<String> {
        let disks = self.disks();
        let made = disks.iter().filter(|(_, by)| *by == token);
        made.map(|(id, _)| id.clone()).collect()
    }

    fn make(&self, token: &str) -> String {
        let mut disks = self.disks();
        let id = format!("disk-{}", disks.len());
        disks.insert(id.clone(), token.to_owned());
        id
    }
}

/// A disk, named by the cloud.
struct Disk {
    cloud: Cloud,
    /// A bug of its author: tokens are kept here, and not looked up in the cloud.
    remembered: Option<Mutex<BTreeMap<String, String>>>,
}

impl Disk {
    fn known(&self, token: &str) -> Option<String> {
        match &self.remembered {
            None => self.cloud.made_by(token).pop(),
            Some(remembered) => remembered.lock().expect("no holder panics").get(token).cloned(),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct DiskParameters {
    gigabytes: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Nothing {}

#[async_trait]
impl Resource for Disk {
    type Parameters = DiskParameters;
    type Status = Nothing;

    fn kind() -> Kind {
        Kind::new(
            "disks.example.org",
            "v1",
            "Disk",
            ExternalName::by_upstream("disk-0"),
        )
        .recover_by_token(Duration::MAX)
        .example(Example::new("small", &json!({"gigabytes": 1})))
    }

    async fn observe(&self, call: &Call, _: &Known<DiskParameters>) -> Result<Observed<Self>, Failure> {
        let name = &call.target.external_name;
        Ok(if self.cloud.disks().contains_key(name) {
            Observation::new(name, DiskParameters { gigabytes: 1 })
                .ready()
                .into()
        } else {
            Observed::absent()
        })
    }

    async fn create(&self, _: &Call, create: &Create<DiskParameters>) -> Result<Outcome<Self>, Failure> {
        yield_now().await;
        let token = &create.client_request_token;
        let id = match self.known(token) {
            Some(id) => id,
            None => self.cloud.make(token),
        };
        yield_now().await;
        if let Some(remembered) = &self.remembered {
            remembered
                .lock()
                .expect("no holder panics")
                .insert(token.clone(), id.clone());
        }
        Ok(Operation::create(&id).poll_after(Duration::ZERO).into())
    }

    async fn update(&self, _: &Call, _: &Update<DiskParameters>) -> Result<Outcome<Self>, Failure> {
        Err(Failure::unsupported("disks do not change"))
    }

    async fn delete(&self, call: &Call, _: &Delete<DiskParameters>) -> Result<Outcome<Self>, Failure> {
        let removed = self.cloud.disks().remove(&call.target.external_name);
        Ok(if removed.is_some() {
            Outcome::completed()
        } else {
            Outcome::already_done()
        })
    }

    async fn poll(&self, _: &Call, poll: &Poll<DiskParameters>) -> Result<Outcome<Self>, Failure> {
        Ok(Outcome::completed().external_name(&poll.handle))
    }
}

fn disks(forgetful: bool) -> (Cloud, Harness) {
    let cloud = Cloud::default();
    let upstream = cloud.clone();
    let harness = Harness::new(move || {
        Plugin::new("disks.example.org", "1.0.0").resource(Disk {
            cloud: upstream.clone(),
            remembered: forgetful.then(Mutex::default),
        })
    });
    (cloud, harness)
}

async fn kill_in_create(forgetful: bool) {
    let (cloud, harness) = disks(forgetful);
    harness
        .killed_in_create(
            |_| harness.resource::<Disk>(&json!({"gigabytes": 1})),
            |disk| cloud.made_by(disk.client_request_token()).len(),
        )
        .await;
}

#[tokio::test]
async fn a_creation_killed_anywhere_ends_with_one() {
    kill_in_create(false).await;
}

#[tokio::test]
#[should_panic(expected = "durable/killed-in-create-one-resource: killed at wait 2 of Create, there are 2")]
async fn a_plugin_with_process_state_fails_recovery() {
    kill_in_create(true).await;
}

#[tokio::test]
async fn an_operation_is_followed_on_another_replica() {
    let (_folder, harness) = harness();
    let (other, restarted) = (harness.replica(), harness.replica());
    let mut job = harness.resource::<thing::job::Job>(&json!({"steps": 2}));
    job.create().await.operation();
    job.on(&other);
    job.poll().await.operation();
    restarted.restart();
    job.on(&restarted);
    job.poll().await.completed();
}

/// The second replica, asked again for what the first has created: how many there are then.
async fn repeated_on_another_replica(forgetful: bool) -> usize {
    let (cloud, harness) = disks(forgetful);
    let other = harness.replica();
    let mut disk = harness.resource::<Disk>(&json!({"gigabytes": 1}));
    disk.create().await.operation();
    disk.on(&other);
    disk.recover().await;
    cloud.made_by(disk.client_request_token()).len()
}

#[tokio::test]
async fn a_plugin_with_process_state_is_found_out_by_two_replicas() {
    assert_eq!(repeated_on_another_replica(false).await, 1);
    assert_eq!(repeated_on_another_replica(true).await, 2);
}

#[tokio::test]
async fn a_creation_is_cut_when_the_upstream_has_done_it() {
    let (cloud, harness) = disks(false);
    let mut disk = harness.resource::<Disk>(&DiskParameters { gigabytes: 1 });
    let cut = cut_once(|| !cloud.disks().is_empty(), disk.create()).await;
    assert_eq!((cut, disk.external_name()), (Cut::Inside, ""));
    harness.restart();
    let repeated = disk.repeat().await;
    let ended = disk.follow(repeated).await.outcome();
    assert!(matches!(ended.result, OutcomeResult::Completed(_)));
    assert_eq!(cloud.made_by(disk.client_request_token()), [disk.external_name()]);
}
