use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::{SignedDuration, Timestamp};

use super::{BuiltIn, BuiltIns, Definitions, GroupKind, Want, WatchId};

/// What to do about the watches. Prints one line per step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// To be stopped, before anything is started.
    pub stops: Vec<Stop>,
    /// To be started.
    pub starts: Vec<Start>,
    /// Wanted, and not possible now.
    pub waits: Vec<Wait>,
    /// When a watch that nobody wants is over: plan again.
    pub again: Option<Timestamp>,
}

/// A watch to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Which.
    pub watch: WatchId,
    /// Why.
    pub reason: String,
}

/// A watch to stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// Which.
    pub watch: WatchId,
    /// What that says about its objects.
    pub ending: Ending,
    /// Why.
    pub reason: String,
}

/// What becomes of the objects of a watch that stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// They are gone with their definition, unless its successor serves them again.
    Gone,
    /// They are only no longer watched.
    Unwatched,
}

/// A kind that is wanted and cannot be watched now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Which.
    pub kind: GroupKind,
    /// Why not.
    pub reason: String,
}

/// The difference between what should run and what runs.
pub fn plan(
    wants: &BTreeMap<GroupKind, Want>,
    definitions: &Definitions,
    built_ins: &BuiltIns,
    running: &BTreeSet<WatchId>,
    now: Timestamp,
    grace: SignedDuration,
) -> Plan {
    let mut plan = Plan::default();
    let mut kept = BTreeSet::new();
    for watch in running {
        let ending = ending(watch, wants, definitions, now, grace)
            .or_else(|| no_longer_built_in(watch, wants, definitions, built_ins));
        if let Some((ending, reason)) = ending {
            plan.stops.push(Stop {
                watch: watch.clone(),
                ending,
                reason,
            });
        } else {
            kept.insert(&watch.kind);
            let over = wants
                .get(&watch.kind)
                .and_then(|want| Some(want.unwanted_since? + grace));
            plan.again = [plan.again, over].into_iter().flatten().min();
        }
    }
    for (kind, want) in wants.iter().filter(|(_, want)| want.unwanted_since.is_none()) {
        match possible(kind, want, definitions, built_ins) {
            Ok(watch) if running.contains(&watch) => {}
            Ok(watch) => plan.starts.push(Start {
                watch,
                reason: want.reasons(),
            }),
            // As long as it is not known what is served, what runs goes on.
            Err(_) if kept.contains(kind) => {}
            Err(reason) => plan.waits.push(Wait {
                kind: kind.clone(),
                reason,
            }),
        }
    }
    plan
}

/// Why a watch that runs must stop.
fn ending(
    watch: &WatchId,
    wants: &BTreeMap<GroupKind, Want>,
    definitions: &Definitions,
    now: Timestamp,
    grace: SignedDuration,
) -> Option<(Ending, String)> {
    if let (Some(uid), Ok(definitions)) = (&watch.definition, definitions) {
        let Some(definition) = definitions.get(&watch.kind) else {
            return Some((Ending::Gone, "its definition was deleted".to_owned()));
        };
        if definition.uid != *uid {
            let reason = format!("its definition was deleted and made anew as {}", definition.uid);
            return Some((Ending::Gone, reason));
        }
        if let Err(reason) = definition.serves(&watch.version) {
            return Some((Ending::Unwatched, reason));
        }
    }
    match wants.get(&watch.kind) {
        None => Some((Ending::Unwatched, "no controller needs it".to_owned())),
        Some(want) if want.is_over(now, grace) => Some((
            Ending::Unwatched,
            format!("no controller has needed it for {grace:#}"),
        )),
        Some(want) if want.version != watch.version => Some((
            Ending::Unwatched,
            format!("version {} is wanted instead", want.version),
        )),
        Some(_) => None,
    }
}

/// Why a watch of a kind that was served without a definition must stop.
fn no_longer_built_in(
    watch: &WatchId,
    wants: &BTreeMap<GroupKind, Want>,
    definitions: &Definitions,
    built_ins: &BuiltIns,
) -> Option<(Ending, String)> {
    if watch.definition.is_some() || wants.get(&watch.kind).is_some_and(|want| want.always_served) {
        return None;
    }
    if definitions
        .as_ref()
        .is_ok_and(|definitions| definitions.contains_key(&watch.kind))
    {
        return Some((Ending::Unwatched, "it has a definition now".to_owned()));
    }
    let Some(Ok(built_ins)) = built_ins else {
        return None;
    };
    let reason = serves_built_in(built_ins.get(&watch.kind), &watch.version).err()?;
    Some((Ending::Unwatched, reason))
}

/// The watch that serves a want, or why there can be none.
fn possible(
    kind: &GroupKind,
    want: &Want,
    definitions: &Definitions,
    built_ins: &BuiltIns,
) -> Result<WatchId, String> {
    let watch = |definition| WatchId {
        kind: kind.clone(),
        version: want.version.clone(),
        definition,
    };
    if want.always_served {
        return Ok(watch(None));
    }
    let definitions = definitions
        .as_ref()
        .map_err(|why| format!("the definitions are not known: {why}"))?;
    if let Some(definition) = definitions.get(kind) {
        definition.serves(&want.version)?;
        return Ok(watch(Some(definition.uid.clone())));
    }
    match built_ins {
        None => Err("there is no definition of this kind".to_owned()),
        Some(Err(why)) => Err(format!(
            "there is no definition of this kind, and what is served without one is not known: {why}"
        )),
        Some(Ok(built_ins)) => serves_built_in(built_ins.get(kind), &want.version).map(|()| watch(None)),
    }
}

fn serves_built_in(kind: Option<&BuiltIn>, version: &str) -> Result<(), String> {
    let kind = kind.ok_or("the cluster serves no such kind")?;
    match kind.get(version) {
        Some(true) => Ok(()),
        Some(false) => Err("its API cannot be watched".to_owned()),
        None => {
            let served: Vec<&str> = kind.keys().map(String::as_str).collect();
            let served = served.join(", ");
            Err(format!("the cluster does not serve {version}, only {served}"))
        }
    }
}

impl Plan {
    /// Nothing to start or stop.
    pub fn is_idle(&self) -> bool {
        self.starts.is_empty() && self.stops.is_empty()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Stop {
            watch,
            ending,
            reason,
        } in &self.stops
        {
            let objects = match ending {
                Ending::Gone => "its objects are gone",
                Ending::Unwatched => "its objects are no longer watched",
            };
            writeln!(f, "stop  {watch}: {reason}; {objects}")?;
        }
        for Start { watch, reason } in &self.starts {
            writeln!(f, "start {watch}: {reason}")?;
        }
        for Wait { kind, reason } in &self.waits {
            writeln!(f, "wait  {kind}: {reason}")?;
        }
        match self.again {
            Some(at) => writeln!(f, "again {at}"),
            None => Ok(()),
        }
    }
}
