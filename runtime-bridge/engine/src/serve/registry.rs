use std::{future::pending, sync::Arc};

use futures::{
    StreamExt,
    future::{BoxFuture, select_all},
    stream::FuturesUnordered,
};
use tokio::time::{Instant, sleep_until};

use super::{
    DefinitionMode, DesiredKind, KindReport, KindSource, KindStatus,
    definition::{Inspection, inspect},
    entry::Entry,
};
use crate::{crd::CrdError, engine::Engine, lease::Leadership, random};

/// Definitions inspected, at once.
const INSPECTIONS: usize = 8;

/// Serves what its sources want.
///
/// Where two want one kind, the first keeps it, also when it changes, until it wants it no more. A kind whose definition in the cluster belongs to another
/// plugin is left to that one as soon as it wants it. Dropping the registry drops all handles.
pub struct Registry {
    engine: Arc<Engine>,
    leadership: Leadership,
    mode: DefinitionMode,
    report: Arc<dyn KindReport>,
    sources: Vec<Box<dyn KindSource>>,
    entries: Vec<Entry>,
    inspections: FuturesUnordered<BoxFuture<'static, Inspection>>,
}

impl Registry {
    /// Takes in what the sources want. Nothing is served before [`Registry::run`].
    pub fn new(
        engine: &Arc<Engine>,
        leadership: &Leadership,
        mode: DefinitionMode,
        report: Arc<dyn KindReport>,
        sources: Vec<Box<dyn KindSource>>,
    ) -> Self {
        let mut registry = Self {
            engine: Arc::clone(engine),
            leadership: leadership.clone(),
            mode,
            report,
            sources,
            entries: Vec::new(),
            inspections: FuturesUnordered::new(),
        };
        registry.refresh();
        registry
    }

    /// Follows its sources, the definitions in the cluster and the leadership, until it is dropped. Cancel safe: the next run goes on with what was
    /// being inspected.
    pub async fn run(&mut self) {
        let mut leads = self.leadership.watch();
        let mut definitions = self.engine.watches.served_changes();
        self.compare();
        loop {
            self.begin_inspections();
            let next = self.entries.iter().filter_map(Entry::due).min();
            tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                () = any_changed(&self.sources) => self.refresh(),
                Ok(()) = leads.changed() => {
                    // Who ends leading leaves all as it is.
                    if *leads.borrow_and_update() {
                        self.recheck_all();
                    }
                }
                Ok(()) = definitions.changed() => self.compare(),
                Some(inspected) = self.inspections.next() => self.inspected(inspected),
                () = until(next), if self.inspections.len() < INSPECTIONS => {}
            }
        }
    }

    /// Asks the sources anew. What is wanted as before goes on untouched.
    fn refresh(&mut self) {
        let now = Instant::now();
        let wanted: Vec<_> = self.sources.iter_mut().map(|source| source.wanted()).collect();
        let all = || wanted.iter().flat_map(|wanted| &wanted.kinds);
        // Whose kinds these were until now, or are by their definitions: they come before all others.
        let mut incumbents = Vec::new();
        let rightful: Vec<Option<String>> = self
            .entries
            .iter()
            .map(|entry| self.rightful(entry, all()))
            .collect();
        let mut rightful = rightful.into_iter();
        self.entries.retain(|entry| {
            let rightful = rightful.next().flatten();
            let is_kept = rightful.is_none() && all().any(|kind| Arc::ptr_eq(kind, &entry.kind));
            if !is_kept {
                let incumbent = rightful.unwrap_or_else(|| entry.kind.source.clone());
                incumbents.push((incumbent, Arc::clone(&entry.kind)));
            }
            is_kept
        });
        let is_incumbent = |kind: &DesiredKind| {
            let mut incumbents = incumbents.iter();
            incumbents.any(|(source, former)| *source == kind.source && former.excludes(kind))
        };
        let (first, others): (Vec<_>, Vec<_>) = all()
            .filter(|kind| !self.entries.iter().any(|entry| Arc::ptr_eq(&entry.kind, kind)))
            .partition(|kind| is_incumbent(kind));
        let mut statuses = Vec::new();
        for kind in first.into_iter().chain(others) {
            let other = self.entries.iter().find(|entry| entry.kind.excludes(kind));
            if let Some(Entry { kind: other, .. }) = other {
                let why = format!("{} is served by {}, too", other.name, other.source);
                let name = format!("{} of {}", kind.name, kind.source);
                statuses.push((name, KindStatus::Refused(why)));
                continue;
            }
            statuses.push((kind.name.clone(), KindStatus::Starting));
            self.entries.push(Entry::new(Arc::clone(kind), now));
        }
        for (source, wanted) in self.sources.iter_mut().zip(&wanted) {
            let is_served = |kind: &&Arc<DesiredKind>| {
                let mut entries = self.entries.iter();
                entries.any(|entry| Arc::ptr_eq(&entry.kind, kind))
            };
            let accepted: Vec<_> = wanted.kinds.iter().filter(is_served).cloned().collect();
            let rejected = wanted.rejected.iter().cloned();
            statuses.extend(rejected.map(|(name, why)| (name, KindStatus::Refused(why))));
            source.accepted(&accepted);
        }
        let is_shown = |name: &str| {
            statuses.iter().any(|(shown, _)| shown == name)
                || self.entries.iter().any(|entry| entry.kind.name == name)
        };
        self.report.retain(&is_shown);
        for (name, status) in statuses {
            self.report.kind(&name, status);
        }
    }

    /// Whom its definition belongs to, if that one wants this very definition and can have it. If it were the kind that counts, two that have each other's
    /// definitions would get it in turn for ever.
    fn rightful<'a>(
        &self,
        entry: &Entry,
        mut wanted: impl Iterator<Item = &'a Arc<DesiredKind>>,
    ) -> Option<String> {
        let owner = entry.other_owner.as_ref()?;
        let is_free = |kind: &DesiredKind| {
            let mut others = self.entries.iter();
            !others.any(|other| !Arc::ptr_eq(&other.kind, &entry.kind) && other.kind.excludes(kind))
        };
        let is_it = |kind: &Arc<DesiredKind>| {
            kind.source == *owner && kind.crd_name() == entry.kind.crd_name() && is_free(kind)
        };
        wanted.any(is_it).then(|| owner.clone())
    }

    /// Those that are due longest come first, so that none is kept waiting by the others.
    fn begin_inspections(&mut self) {
        let now = Instant::now();
        let mut due: Vec<_> = self
            .entries
            .iter_mut()
            .filter_map(|entry| Some((entry.due().filter(|due| *due <= now)?, entry)))
            .collect();
        due.sort_by_key(|(due, _)| *due);
        let free = INSPECTIONS.saturating_sub(self.inspections.len());
        for (_, entry) in due.into_iter().take(free) {
            entry.begin();
            self.inspections.push(Box::pin(inspect(
                self.engine.clients.write.clone(),
                self.leadership.clone(),
                self.mode,
                Arc::clone(&entry.kind),
                entry.may_write_at(now),
                entry.may_create(),
            )));
        }
    }

    fn inspected(&mut self, Inspection { kind, brought }: Inspection) {
        let now = Instant::now();
        let of_it = |entry: &&mut Entry| Arc::ptr_eq(&entry.kind, &kind);
        // Or it was withdrawn meanwhile.
        let Some(entry) = self.entries.iter_mut().find(of_it) else {
            return;
        };
        let shown = self.engine.watches.definition_version(kind.crd_name());
        let status = match brought.found {
            Ok(found) => {
                if let Some(newer) = found.newer {
                    let crd = kind.crd_name();
                    tracing::warn!(crd, "left as it is: it was written by {newer}, which is newer");
                }
                entry.found_good(found.version, brought.written, found.lacks_notes, now);
                // The watch may show it already, and then brings no news of it.
                if let Some(Some(version)) = shown {
                    entry.shows(Some(version), now);
                }
                if let (None, Some(controller)) = (&entry.served, &kind.controller) {
                    entry.served = Some(self.engine.serve(controller.clone()));
                }
                KindStatus::Served
            }
            Err(error) => {
                entry.found_bad(&error, brought.written, shown.is_some(), random::fraction(), now);
                let why = error.to_string();
                match error {
                    _ if entry.is_standing => KindStatus::Degraded(why),
                    // Whatever lasts about it, the leader says.
                    CrdError::NotLeader { .. } => KindStatus::Pending(why),
                    _ if entry.is_pending(now) => KindStatus::Pending(why),
                    _ => KindStatus::Waiting(why),
                }
            }
        };
        let is_another_owners = entry.other_owner.is_some();
        self.report.kind(&entry.kind.name, status);
        if is_another_owners {
            // Who may want it, too, and was refused.
            self.refresh();
        }
    }

    /// Who begins to lead makes the definitions what they should be.
    fn recheck_all(&mut self) {
        let now = Instant::now();
        for entry in &mut self.entries {
            entry.recheck(now);
        }
    }

    /// A definition may have changed in the cluster.
    fn compare(&mut self) {
        let now = Instant::now();
        for entry in &mut self.entries {
            let Some(version) = self.engine.watches.definition_version(entry.kind.crd_name()) else {
                continue;
            };
            if entry.shows(version, now) {
                let why = KindStatus::Waiting("its CRD was deleted".to_owned());
                self.report.kind(&entry.kind.name, why);
            }
        }
    }
}

async fn any_changed(sources: &[Box<dyn KindSource>]) {
    if sources.is_empty() {
        return pending().await;
    }
    select_all(sources.iter().map(|source| source.changed())).await;
}

async fn until(next: Option<Instant>) {
    match next {
        Some(next) => sleep_until(next).await,
        None => pending().await,
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
