//! What must hold when everything is as it should be and nothing happens.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::Ordering,
};

use bridge_engine::clock::Clock;
use fake_cloud::{fault::Rpc, kinds::GROUP};
use jiff::Timestamp;

use super::{plural_of, text};
use crate::simulation::environment::Environment;

impl Environment {
    /// Whatever was written since so many commits and so many requested writes; elections go on.
    pub(crate) fn zero_writes_at_rest(&self, since: usize, asked: usize) {
        let state = self.kube.state();
        let written = state.history[since..]
            .iter()
            .find(|commit| commit.resource.0 != "leases");
        let written = written.map(|commit| {
            let name = text(&commit.new, "/metadata/name");
            format!("zero_writes_at_rest: {} {name}", commit.resource.0)
        });
        drop(state);
        let more = self.writes_asked.load(Ordering::Relaxed) - asked;
        let idle = || (more > 0).then(|| format!("zero_writes_at_rest: {more} writes that changed nothing"));
        if let Some(written) = written.or_else(idle) {
            self.blame(written);
        }
    }

    /// Each object that exists was observed since then.
    pub(crate) fn no_key_starves(&self, since: Timestamp) {
        let living: BTreeSet<String> = {
            let state = self.kube.state();
            let plurals: Vec<String> = self.kinds.iter().map(|kind| plural_of(kind)).collect();
            let objects = plurals.iter().flat_map(|plural| state.all(plural, GROUP));
            objects
                .map(|object| text(object, "/metadata/uid").to_owned())
                .collect()
        };
        let starved = {
            let cloud = self.cloud.lock();
            let looked: BTreeSet<&str> = cloud
                .entries
                .iter()
                .filter(|entry| entry.at >= since && entry.rpc == Rpc::Observe)
                .map(|entry| entry.uid.as_str())
                .collect();
            living.into_iter().find(|uid| !looked.contains(uid.as_str()))
        };
        if let Some(starved) = starved {
            self.blame(format!(
                "no_key_starves: {starved} was not observed from {since} to {}",
                self.time.now()
            ));
        }
    }

    /// Each bridge watches what the state of the cluster asks for: each kind that is served, and what the kinds refer to. Once. Returns
    /// how a bridge watches otherwise.
    pub(crate) fn the_watch_set_equals_the_plan(&self) -> Option<String> {
        let mut planned: BTreeMap<String, usize> = [
            "customresourcedefinitions",
            "secrets",
            "providerconfigs",
            "clusterproviderconfigs",
        ]
        .into_iter()
        .map(|plural| (plural.to_owned(), 1))
        .collect();
        planned.extend(self.kinds.iter().map(|kind| (plural_of(kind), 1)));
        let open = self.watches.lock();
        let wrong = (0..self.bridges).find_map(|bridge| {
            let open: BTreeMap<String, usize> = open
                .iter()
                .filter(|((watcher, _), count)| *watcher == bridge && **count > 0)
                .map(|((_, plural), count)| (plural.clone(), *count))
                .collect();
            (open != planned).then(|| format!("bridge {bridge} watches {open:?}, not {planned:?}"))
        });
        wrong.map(|wrong| format!("the_watch_set_equals_the_plan: {wrong}"))
    }
}
