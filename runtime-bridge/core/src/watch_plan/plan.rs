use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use jiff::{SignedDuration, Timestamp};

use super::{Definition, Definitions, GroupKind, Want, WatchId};

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
    /// They are gone for good, with their definition.
    Gone,
    /// They are only no longer looked at.
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
    running: &BTreeSet<WatchId>,
    now: Timestamp,
    grace: SignedDuration,
) -> Plan {
    let mut plan = Plan::default();
    for watch in running {
        if let Some((ending, reason)) = ending(watch, wants, definitions, now, grace) {
            plan.stops.push(Stop {
                watch: watch.clone(),
                ending,
                reason,
            });
        } else {
            let over = wants
                .get(&watch.kind)
                .and_then(|want| Some(want.unwanted_since? + grace));
            plan.again = [plan.again, over].into_iter().flatten().min();
        }
    }
    for (kind, want) in wants.iter().filter(|(_, want)| want.unwanted_since.is_none()) {
        match possible(kind, want, definitions) {
            Ok(watch) if running.contains(&watch) => {}
            Ok(watch) => plan.starts.push(Start {
                watch,
                reason: want.reasons(),
            }),
            // As long as the definitions are not known, what runs goes on.
            Err(_) if definitions.is_err() && running.iter().any(|watch| watch.kind == *kind) => {}
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
        if let Err(reason) = serves(definition, &watch.version) {
            return Some((Ending::Unwatched, reason));
        }
    }
    match wants.get(&watch.kind) {
        None => Some((Ending::Unwatched, "nobody wants it".to_owned())),
        Some(want) if want.is_over(now, grace) => {
            Some((Ending::Unwatched, format!("nobody has wanted it for {grace:#}")))
        }
        Some(want) if want.version != watch.version => Some((
            Ending::Unwatched,
            format!("version {} is wanted instead", want.version),
        )),
        Some(_) => None,
    }
}

/// The watch that serves a want, or why there can be none.
fn possible(kind: &GroupKind, want: &Want, definitions: &Definitions) -> Result<WatchId, String> {
    let watch = |definition| WatchId {
        kind: kind.clone(),
        version: want.version.clone(),
        definition,
    };
    if want.built_in {
        return Ok(watch(None));
    }
    let definitions = definitions
        .as_ref()
        .map_err(|why| format!("the definitions are not known: {why}"))?;
    let definition = definitions
        .get(kind)
        .ok_or("there is no definition of this kind")?;
    serves(definition, &want.version)?;
    Ok(watch(Some(definition.uid.clone())))
}

fn serves(definition: &Definition, version: &str) -> Result<(), String> {
    if !definition.served.contains(version) {
        let served: Vec<&str> = definition.served.iter().map(String::as_str).collect();
        return Err(format!(
            "its definition does not serve {version}, only {}",
            served.join(", ")
        ));
    }
    if !definition.established {
        return Err("its definition is not established".to_owned());
    }
    Ok(())
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
                Ending::Unwatched => "its objects are no longer looked at",
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
