//! Many cases at once: each object halts at the failpoint of its case, and when all have halted, one kill hits them all.

mod kill;
mod leader;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Duration,
};

use fake_cloud::cloud::External;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    TestError,
    case::{Case, KillTarget, Phase, Variant},
    cluster::{annotation, condition, is_ready_and_synced},
    failpoints::Failpoints,
    testbed::Testbed,
    verdict::CaseResult,
};

/// An object that is not as it should be by then will not be.
const SETTLE_WITHIN: Duration = Duration::from_mins(3);
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// So long that a leader that slept through its lease wakes before its calls' deadlines: only the lease holds it back.
const CALL_SECONDS_BEYOND_LEASE: u32 = 10;
/// Requests at once, of the user.
const CONCURRENT_REQUESTS: usize = 6;

/// Objects that pass their lifecycles side by side.
pub struct Batch<'s> {
    testbed: &'s mut Testbed,
    namespace: String,
    members: Vec<Member>,
    points: Failpoints,
    starts: u32,
    /// The leader slept in this phase.
    sleep: Option<leader::LeaderPause>,
}

/// One managed resource of the batch, and what is known of its case.
struct Member {
    variant: Variant,
    case: Option<Case>,
    name: String,
    uid: String,
    answered: BTreeSet<String>,
    result: CaseResult,
}

impl Member {
    /// Records that a person is asked about the outcome of its creation.
    fn record_question(&mut self, phase: Phase) {
        self.result.asked = true;
        if self.case.is_none() {
            self.result.wrong(phase, "a person was asked without a fault");
        } else if !self.variant.may_ask() {
            self.result
                .wrong(phase, "a person was asked what can be observed");
        }
    }
}

/// A point that comes again and again is taken twice: how often an operation is polled is a matter of time.
const RECORDED_OCCURRENCES: [&str; 2] = ["#1", "#2"];
/// In an undisturbed life no call is cut off, however busy the machine is.
const UNDISTURBED_CALL_SECONDS: u32 = 60;

/// Runs one undisturbed lifecycle of each variant, and returns the points that it came by.
///
/// # Errors
/// The test bed fails, or an undisturbed lifecycle has a violation.
pub async fn record(testbed: &mut Testbed) -> Result<BTreeMap<Variant, Vec<String>>, TestError> {
    let usual = testbed
        .restart_plugin_with_call_limit(Some(UNDISTURBED_CALL_SECONDS))
        .await?;
    let points = record_undisturbed(testbed).await?;
    testbed.restart_plugin_with_call_limit(usual).await?;
    Ok(points)
}

async fn record_undisturbed(testbed: &mut Testbed) -> Result<BTreeMap<Variant, Vec<String>>, TestError> {
    let members = Variant::all()
        .into_iter()
        .map(|variant| (variant, None))
        .collect();
    let mut batch = Batch::new(testbed, "record", members).await?;
    batch.run_lifecycle(None).await?;
    if let Some(member) = batch
        .members
        .iter()
        .find(|member| !member.result.wrong.is_empty())
    {
        return Err(TestError(format!(
            "an undisturbed {} went wrong: {}",
            member.variant,
            member.result.wrong.join("; ")
        )));
    }
    let mut points: BTreeMap<Variant, Vec<String>> = BTreeMap::new();
    for (object, point) in batch.points.reached() {
        let member = batch.members.iter().find(|member| batch.key(member) == object);
        if let Some(member) =
            member.filter(|_| RECORDED_OCCURRENCES.iter().any(|times| point.ends_with(times)))
        {
            points.entry(member.variant.clone()).or_default().push(point);
        }
    }
    Ok(points)
}

/// Runs cases that kill the same target.
///
/// # Errors
/// The test bed fails; violations of an object are in its result.
pub async fn run(
    testbed: &mut Testbed,
    number: usize,
    target: KillTarget,
    cases: Vec<Case>,
) -> Result<Vec<(Case, CaseResult)>, TestError> {
    let members = cases
        .into_iter()
        .map(|case| (case.variant.clone(), Some(case)))
        .collect();
    let usual = match target {
        KillTarget::Leader => Some(
            testbed
                .restart_plugin_with_call_limit(Some(CALL_SECONDS_BEYOND_LEASE))
                .await?,
        ),
        KillTarget::Bridge | KillTarget::Plugin | KillTarget::Both => None,
    };
    let mut batch = Batch::new(testbed, &format!("batch-{number}"), members).await?;
    batch.run_lifecycle(Some(target)).await?;
    let results = batch
        .members
        .into_iter()
        .filter_map(|member| Some((member.case?, member.result)))
        .collect();
    if let Some(usual) = usual {
        testbed.restart_plugin_with_call_limit(usual).await?;
    }
    Ok(results)
}

impl<'s> Batch<'s> {
    async fn new(
        testbed: &'s mut Testbed,
        namespace: &str,
        members: Vec<(Variant, Option<Case>)>,
    ) -> Result<Self, TestError> {
        testbed.cluster.namespace(namespace).await?;
        let members = members
            .into_iter()
            .enumerate()
            .map(|(i, (variant, case))| Member {
                name: format!("{namespace}-{i}"),
                result: case
                    .as_ref()
                    .map_or_else(|| CaseResult::undisturbed(&variant), CaseResult::of),
                variant,
                case,
                uid: String::new(),
                answered: BTreeSet::new(),
            });
        let folder = testbed.folder().join(format!("{namespace}-0"));
        let mut batch = Self {
            members: members.collect(),
            namespace: namespace.to_owned(),
            points: Failpoints::new(folder, &BTreeMap::new())?,
            testbed,
            starts: 0,
            sleep: None,
        };
        if batch.has(KillTarget::Leader) {
            batch.testbed.stop_pair().await?;
            batch.start_pair(None).await?;
        } else {
            batch.testbed.kill_bridge().await;
            batch.start_bridge(None)?;
        }
        batch.testbed.wait_until_ready().await?;
        Ok(batch)
    }

    fn has(&self, target: KillTarget) -> bool {
        let mut cases = self.members.iter().filter_map(|member| member.case.as_ref());
        cases.any(|case| case.target == target)
    }

    /// With the points of all phases after this one.
    fn start_bridge(&mut self, after: Option<Phase>) -> Result<(), TestError> {
        self.set_points(after)?;
        self.testbed.start_bridge(Some(self.points.folder()))
    }

    async fn start_pair(&mut self, after: Option<Phase>) -> Result<(), TestError> {
        self.set_points(after)?;
        self.testbed.start_pair(self.points.folder()).await
    }

    fn set_points(&mut self, after: Option<Phase>) -> Result<(), TestError> {
        self.starts += 1;
        let folder: PathBuf = self
            .testbed
            .folder()
            .join(format!("{}-{}", self.namespace, self.starts));
        let ahead = self.members.iter().filter_map(|member| {
            let case = member.case.as_ref().filter(|case| Some(case.phase) > after)?;
            Some((self.key(member), case.point.clone()))
        });
        self.points = Failpoints::new(folder, &ahead.collect())?;
        Ok(())
    }

    fn key(&self, member: &Member) -> String {
        format!("{}/{}", self.namespace, member.name)
    }

    /// From nothing to nothing.
    async fn run_lifecycle(&mut self, target: Option<KillTarget>) -> Result<(), TestError> {
        for phase in Phase::ALL {
            self.prepare_mid_call(phase).await?;
            self.apply_user_action(phase).await?;
            if let Some(target) = target {
                self.kill_when_halted(phase, target).await?;
                self.kill_mid_call(phase).await?;
            }
            self.settle(phase).await?;
            if target == Some(KillTarget::Leader) {
                let transitions = self.testbed.lease_transitions().await?;
                self.testbed.stop_pair().await?;
                self.judge_former_leader(phase, transitions);
                if phase != Phase::Delete {
                    self.start_pair(Some(phase)).await?;
                }
            }
        }
        self.count().await
    }

    /// What the user does.
    async fn apply_user_action(&mut self, phase: Phase) -> Result<(), TestError> {
        let (cluster, namespace) = (&self.testbed.cluster, &self.namespace);
        let done = self.members.iter().enumerate().map(|(i, member)| async move {
            let handle = cluster.object(&member.variant.kind, namespace, &member.name);
            match phase {
                Phase::Create => {
                    let spec = json!({
                        "forProvider": {"size": 1},
                        "managementPolicies": member.variant.policies(),
                        "writeConnectionSecretToRef": {"name": member.name},
                    });
                    let made = handle.create(json!({"spec": spec})).await?;
                    Ok((i, made["metadata"]["uid"].as_str().unwrap_or_default().to_owned()))
                }
                Phase::Update if member.variant.may("Update") => {
                    handle
                        .merge(json!({"spec": {"forProvider": {"size": 2}}}))
                        .await?;
                    Ok((i, String::new()))
                }
                Phase::Update => Ok((i, String::new())),
                Phase::Delete => handle.delete().await.map(|()| (i, String::new())),
            }
        });
        let done: Vec<(usize, String)> = stream::iter(done)
            .buffer_unordered(CONCURRENT_REQUESTS)
            .try_collect()
            .await?;
        if phase == Phase::Create {
            for (i, uid) in done {
                self.members[i].uid = uid;
            }
        }
        Ok(())
    }

    /// Waits until every object is as it should be after this phase. Questions are answered.
    async fn settle(&mut self, phase: Phase) -> Result<(), TestError> {
        let end = Instant::now() + SETTLE_WITHIN;
        let mut open: BTreeSet<usize> = (0..self.members.len()).collect();
        loop {
            let objects = self.objects().await?;
            let made = self.external_objects().await?;
            let mut answers = Vec::new();
            open.retain(|i| {
                let member = &self.members[*i];
                let object = objects.get(&member.name);
                let made = made.get(&member.uid).map(Vec::as_slice).unwrap_or_default();
                if let Some(question) = object.and_then(question)
                    && !member.answered.contains(&question)
                {
                    answers.push((*i, question, made.first().map(|one| one.name.clone())));
                }
                !is_settled(phase, &member.variant, object, made)
            });
            for (i, question, name) in answers {
                self.members[i].record_question(phase);
                self.answer(i, question, name).await?;
            }
            if open.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                for i in open {
                    let name = &self.members[i].name;
                    let seen = objects.get(name).map_or_else(
                        || "it is deleted".to_owned(),
                        |object| object["status"]["conditions"].to_string(),
                    );
                    let what = format!("{name} is not as expected after {SETTLE_WITHIN:?}: {seen}");
                    self.members[i].result.wrong(phase, what);
                }
                return Ok(());
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Sets the annotation that the message asks for, after a check in the cloud.
    async fn answer(&mut self, i: usize, question: String, name: Option<String>) -> Result<(), TestError> {
        let member = &mut self.members[i];
        let answer = match name {
            Some(name) => format!("exists/{question}/{name}"),
            None => format!("absent/{question}"),
        };
        member.answered.insert(question);
        let handle = self
            .testbed
            .cluster
            .object(&member.variant.kind, &self.namespace, &member.name);
        handle
            .merge(json!({"metadata": {"annotations": {"crossbridge.dev/create-outcome": answer}}}))
            .await
    }

    /// Objects of this batch, by name.
    async fn objects(&self) -> Result<BTreeMap<String, Value>, TestError> {
        let kinds: BTreeSet<&str> = self
            .members
            .iter()
            .map(|member| member.variant.kind.as_str())
            .collect();
        let mut objects = BTreeMap::new();
        for kind in kinds {
            for object in self.testbed.cluster.list(kind, &self.namespace).await? {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                objects.insert(name, object);
            }
        }
        Ok(objects)
    }

    /// What there is in the cloud, by uid.
    async fn external_objects(&self) -> Result<BTreeMap<String, Vec<External>>, TestError> {
        let mut made: BTreeMap<String, Vec<External>> = BTreeMap::new();
        for one in self.testbed.cloud.objects().await.map_err(TestError::from)? {
            made.entry(one.created_for.clone()).or_default().push(one);
        }
        Ok(made)
    }

    /// Counts what was ever created, and what is left.
    async fn count(&mut self) -> Result<(), TestError> {
        let left = self.external_objects().await?;
        let removed = self.testbed.cloud.removed().await.map_err(TestError::from)?;
        for member in &mut self.members {
            if member.result.hit && !member.result.asked && member.case.as_ref().is_some_and(Case::must_ask) {
                let what = "no person was asked about the creation, though its outcome cannot be known";
                member.result.wrong(Phase::Create, what);
            }
            let there = left.get(&member.uid).map_or(0, Vec::len);
            let gone = removed
                .iter()
                .filter(|one| one.external.created_for == member.uid)
                .count();
            member.result.left = there;
            member.result.made = there + gone;
            if member.result.made != 1 {
                let what = format!("{} external objects were created", member.result.made);
                member.result.wrong(Phase::Delete, what);
            }
            let expected = usize::from(!member.variant.may("Delete"));
            if there != expected {
                let what = format!("{there} external objects are left, {expected} expected");
                member.result.wrong(Phase::Delete, what);
            }
        }
        Ok(())
    }
}

/// The question that the object's message asks, as a person would read it.
fn question(object: &Value) -> Option<String> {
    let synced = condition(object, "Synced");
    if synced["reason"] != "CreateOutcomeUnknown" {
        return None;
    }
    let message = synced["message"].as_str()?;
    let (_, rest) = message.split_once("crossbridge.dev/create-outcome=absent/")?;
    rest.split_whitespace().next().map(str::to_owned)
}

fn is_settled(phase: Phase, variant: &Variant, object: Option<&Value>, made: &[External]) -> bool {
    let Some(object) = object else {
        return phase == Phase::Delete;
    };
    let [external] = made else { return false };
    let size = if phase == Phase::Update && variant.may("Update") {
        2
    } else {
        1
    };
    phase != Phase::Delete
        && is_ready_and_synced(object)
        && annotation(object, "crossplane.io/external-name") == external.name
        && external.parameters.get("size") == Some(&json!(size))
}
