//! Many cases at once: each object halts where its case says, and when all have halted, one kill hits them all.

mod leader;
mod strike;

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
    Trouble,
    case::{Case, Phase, Sort, Victim},
    cluster::{annotation, condition, is_well},
    points::Points,
    stage::Stage,
    verdict::Line,
};

/// An object that is not as it should be by then will not be.
const SETTLE_WITHIN: Duration = Duration::from_mins(3);
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// So long that a leader that slept through its lease wakes before its calls' deadlines: only the lease holds it back.
const LONGER_THAN_A_LEASE: u32 = 10;
/// Requests at once, of the user.
const HANDS: usize = 6;

/// Objects that live their lives side by side.
pub struct Batch<'s> {
    stage: &'s mut Stage,
    namespace: String,
    members: Vec<Member>,
    points: Points,
    starts: u32,
    /// The leader slept in this phase.
    sleep: Option<leader::Sleep>,
}

/// One object.
struct Member {
    sort: Sort,
    case: Option<Case>,
    name: String,
    uid: String,
    answered: BTreeSet<String>,
    line: Line,
}

impl Member {
    /// A person is asked what became of its creation.
    fn asks(&mut self, phase: Phase) {
        self.line.asked = true;
        if self.case.is_none() {
            self.line
                .wrong(phase, "a person was asked, and nothing went wrong");
        } else if !self.sort.may_ask() {
            self.line.wrong(phase, "a person was asked what can be found out");
        }
    }
}

/// A point that comes again and again is taken twice: how often an operation is polled is a matter of time.
const TIMES: [&str; 2] = ["#1", "#2"];
/// In an undisturbed life no call is cut off, however busy the machine is.
const PLENTY: u32 = 60;

/// Lets one object of each sort live undisturbed, and returns the points that it came by.
///
/// # Errors
/// The stage does not play along, or an undisturbed life goes wrong.
pub async fn record(stage: &mut Stage) -> Result<BTreeMap<Sort, Vec<String>>, Trouble> {
    let usual = stage.calls_may_take(Some(PLENTY)).await?;
    let points = record_at_leisure(stage).await?;
    stage.calls_may_take(usual).await?;
    Ok(points)
}

async fn record_at_leisure(stage: &mut Stage) -> Result<BTreeMap<Sort, Vec<String>>, Trouble> {
    let members = Sort::all().into_iter().map(|sort| (sort, None)).collect();
    let mut batch = Batch::new(stage, "record", members).await?;
    batch.live(None).await?;
    if let Some(member) = batch.members.iter().find(|member| !member.line.wrong.is_empty()) {
        return Err(Trouble(format!(
            "an undisturbed {} went wrong: {}",
            member.sort,
            member.line.wrong.join("; ")
        )));
    }
    let mut points: BTreeMap<Sort, Vec<String>> = BTreeMap::new();
    for (object, point) in batch.points.reached() {
        let member = batch.members.iter().find(|member| batch.key(member) == object);
        if let Some(member) = member.filter(|_| TIMES.iter().any(|times| point.ends_with(times))) {
            points.entry(member.sort.clone()).or_default().push(point);
        }
    }
    Ok(points)
}

/// Runs cases that kill the same victim.
///
/// # Errors
/// The stage does not play along; what goes wrong with an object is in its line.
pub async fn run(
    stage: &mut Stage,
    number: usize,
    victim: Victim,
    cases: Vec<Case>,
) -> Result<Vec<(Case, Line)>, Trouble> {
    let members = cases
        .into_iter()
        .map(|case| (case.sort.clone(), Some(case)))
        .collect();
    let usual = match victim {
        Victim::Leader => Some(stage.calls_may_take(Some(LONGER_THAN_A_LEASE)).await?),
        Victim::Bridge | Victim::Plugin | Victim::Both => None,
    };
    let mut batch = Batch::new(stage, &format!("batch-{number}"), members).await?;
    batch.live(Some(victim)).await?;
    let lines = batch
        .members
        .into_iter()
        .filter_map(|member| Some((member.case?, member.line)))
        .collect();
    if let Some(usual) = usual {
        stage.calls_may_take(usual).await?;
    }
    Ok(lines)
}

impl<'s> Batch<'s> {
    async fn new(
        stage: &'s mut Stage,
        namespace: &str,
        members: Vec<(Sort, Option<Case>)>,
    ) -> Result<Self, Trouble> {
        stage.cluster.namespace(namespace).await?;
        let members = members.into_iter().enumerate().map(|(i, (sort, case))| Member {
            name: format!("{namespace}-{i}"),
            line: case.as_ref().map_or_else(|| Line::undisturbed(&sort), Line::of),
            sort,
            case,
            uid: String::new(),
            answered: BTreeSet::new(),
        });
        let folder = stage.folder().join(format!("{namespace}-0"));
        let mut batch = Self {
            members: members.collect(),
            namespace: namespace.to_owned(),
            points: Points::new(folder, &BTreeMap::new())?,
            stage,
            starts: 0,
            sleep: None,
        };
        if batch.has(Victim::Leader) {
            batch.stage.stop_pair().await?;
            batch.start_pair(None).await?;
        } else {
            batch.stage.kill_bridge().await;
            batch.start_bridge(None)?;
        }
        batch.stage.until_ready().await?;
        Ok(batch)
    }

    fn has(&self, victim: Victim) -> bool {
        let mut cases = self.members.iter().filter_map(|member| member.case.as_ref());
        cases.any(|case| case.victim == victim)
    }

    /// With the points of all phases after this one.
    fn start_bridge(&mut self, after: Option<Phase>) -> Result<(), Trouble> {
        self.set_points(after)?;
        self.stage.start_bridge(Some(self.points.folder()))
    }

    async fn start_pair(&mut self, after: Option<Phase>) -> Result<(), Trouble> {
        self.set_points(after)?;
        self.stage.start_pair(self.points.folder()).await
    }

    fn set_points(&mut self, after: Option<Phase>) -> Result<(), Trouble> {
        self.starts += 1;
        let folder: PathBuf = self
            .stage
            .folder()
            .join(format!("{}-{}", self.namespace, self.starts));
        let ahead = self.members.iter().filter_map(|member| {
            let case = member.case.as_ref().filter(|case| Some(case.phase) > after)?;
            Some((self.key(member), case.point.clone()))
        });
        self.points = Points::new(folder, &ahead.collect())?;
        Ok(())
    }

    fn key(&self, member: &Member) -> String {
        format!("{}/{}", self.namespace, member.name)
    }

    /// From nothing to nothing.
    async fn live(&mut self, victim: Option<Victim>) -> Result<(), Trouble> {
        for phase in Phase::ALL {
            self.prepare_amid(phase).await?;
            self.act(phase).await?;
            if let Some(victim) = victim {
                self.strike(phase, victim).await?;
                self.strike_amid(phase).await?;
            }
            self.settle(phase).await?;
            if victim == Some(Victim::Leader) {
                let transitions = self.stage.lease_transitions().await?;
                self.stage.stop_pair().await?;
                self.judge_the_old_leader(phase, transitions);
                if phase != Phase::Delete {
                    self.start_pair(Some(phase)).await?;
                }
            }
        }
        self.count().await
    }

    /// What the user does.
    async fn act(&mut self, phase: Phase) -> Result<(), Trouble> {
        let (cluster, namespace) = (&self.stage.cluster, &self.namespace);
        let done = self.members.iter().enumerate().map(|(i, member)| async move {
            let handle = cluster.object(&member.sort.kind, namespace, &member.name);
            match phase {
                Phase::Create => {
                    let spec = json!({
                        "forProvider": {"size": 1},
                        "managementPolicies": member.sort.policies(),
                        "writeConnectionSecretToRef": {"name": member.name},
                    });
                    let made = handle.create(json!({"spec": spec})).await?;
                    Ok((i, made["metadata"]["uid"].as_str().unwrap_or_default().to_owned()))
                }
                Phase::Update if member.sort.may("Update") => {
                    handle
                        .merge(json!({"spec": {"forProvider": {"size": 2}}}))
                        .await?;
                    Ok((i, String::new()))
                }
                Phase::Update => Ok((i, String::new())),
                Phase::Delete => handle.delete().await.map(|()| (i, String::new())),
            }
        });
        let done: Vec<(usize, String)> = stream::iter(done).buffer_unordered(HANDS).try_collect().await?;
        if phase == Phase::Create {
            for (i, uid) in done {
                self.members[i].uid = uid;
            }
        }
        Ok(())
    }

    /// Waits until every object is as it should be after this phase. Whoever is asked answers.
    async fn settle(&mut self, phase: Phase) -> Result<(), Trouble> {
        let end = Instant::now() + SETTLE_WITHIN;
        let mut open: BTreeSet<usize> = (0..self.members.len()).collect();
        loop {
            let objects = self.objects().await?;
            let made = self.made().await?;
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
                !is_settled(phase, &member.sort, object, made)
            });
            for (i, question, name) in answers {
                self.members[i].asks(phase);
                self.answer(i, question, name).await?;
            }
            if open.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                for i in open {
                    let name = &self.members[i].name;
                    let seen = objects.get(name).map_or_else(
                        || "it is gone".to_owned(),
                        |object| object["status"]["conditions"].to_string(),
                    );
                    let what = format!("{name} is not settled after {SETTLE_WITHIN:?}: {seen}");
                    self.members[i].line.wrong(phase, what);
                }
                return Ok(());
            }
            sleep(ASK_AGAIN).await;
        }
    }

    /// Pastes the answer that the message asks for, after a look into the cloud.
    async fn answer(&mut self, i: usize, question: String, name: Option<String>) -> Result<(), Trouble> {
        let member = &mut self.members[i];
        let answer = match name {
            Some(name) => format!("exists/{question}/{name}"),
            None => format!("absent/{question}"),
        };
        member.answered.insert(question);
        let handle = self
            .stage
            .cluster
            .object(&member.sort.kind, &self.namespace, &member.name);
        handle
            .merge(json!({"metadata": {"annotations": {"crossbridge.dev/create-outcome": answer}}}))
            .await
    }

    /// Objects of this batch, by name.
    async fn objects(&self) -> Result<BTreeMap<String, Value>, Trouble> {
        let kinds: BTreeSet<&str> = self
            .members
            .iter()
            .map(|member| member.sort.kind.as_str())
            .collect();
        let mut objects = BTreeMap::new();
        for kind in kinds {
            for object in self.stage.cluster.list(kind, &self.namespace).await? {
                let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                objects.insert(name, object);
            }
        }
        Ok(objects)
    }

    /// What there is in the cloud, by uid.
    async fn made(&self) -> Result<BTreeMap<String, Vec<External>>, Trouble> {
        let mut made: BTreeMap<String, Vec<External>> = BTreeMap::new();
        for one in self.stage.cloud.objects().await.map_err(Trouble::from)? {
            made.entry(one.made_for.clone()).or_default().push(one);
        }
        Ok(made)
    }

    /// Counts what was ever made, and what is left.
    async fn count(&mut self) -> Result<(), Trouble> {
        let left = self.made().await?;
        let removed = self.stage.cloud.removed().await.map_err(Trouble::from)?;
        for member in &mut self.members {
            if member.line.hit && !member.line.asked && member.case.as_ref().is_some_and(Case::must_ask) {
                let what = "nobody was asked what became of the creation, though nothing tells it";
                member.line.wrong(Phase::Create, what);
            }
            let there = left.get(&member.uid).map_or(0, Vec::len);
            let gone = removed
                .iter()
                .filter(|one| one.external.made_for == member.uid)
                .count();
            member.line.left = there;
            member.line.made = there + gone;
            if member.line.made != 1 {
                let what = format!("{} external objects were made", member.line.made);
                member.line.wrong(Phase::Delete, what);
            }
            let expected = usize::from(!member.sort.may("Delete"));
            if there != expected {
                let what = format!("{there} external objects are left, {expected} expected");
                member.line.wrong(Phase::Delete, what);
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

fn is_settled(phase: Phase, sort: &Sort, object: Option<&Value>, made: &[External]) -> bool {
    let Some(object) = object else {
        return phase == Phase::Delete;
    };
    let [external] = made else { return false };
    let size = if phase == Phase::Update && sort.may("Update") {
        2
    } else {
        1
    };
    phase != Phase::Delete
        && is_well(object)
        && annotation(object, "crossplane.io/external-name") == external.name
        && external.parameters.get("size") == Some(&json!(size))
}
