//! How many there are of what was made once.

use std::collections::BTreeSet;

use crossbridge_types::{CreateRecovery, Look, NameSource};
use uuid::Uuid;

use super::{Lab, Thing, list_all};
use crate::verdict::{Stop, Verdict};

/// More than any repeat makes.
const MOST: usize = 30;

/// Of a kind of which a second one would not be seen.
const UNCOUNTABLE: &str = "nobody could see a second one: the upstream gives the names, and the kind neither lists what \
                           bears its marker nor looks for it";

impl Lab {
    /// Counts what was made as this thing, and removes all of it: one is due.
    pub(crate) async fn one_and_gone(&self, thing: &Thing) -> Result<Verdict, Stop> {
        let Some(mut found) = self.bearers(thing).await? else {
            self.remove(thing).await?;
            return Ok(Verdict::NotApplicable(UNCOUNTABLE.to_owned()));
        };
        self.remove(thing).await?;
        let mut names = found.clone();
        found.remove(thing.name());
        let mut gone = BTreeSet::from([thing.name().to_owned()]);
        // A look by marker finds one at a time.
        for _ in 0..MOST {
            let Some(name) = found.pop_first() else {
                found = self.bearers(thing).await?.unwrap_or_default();
                found.retain(|name| !gone.contains(name));
                if found.is_empty() {
                    break;
                }
                continue;
            };
            let mut other = thing.clone();
            other.token = Uuid::new_v4().to_string();
            other.target.external_name.clone_from(&name);
            self.bench.registry.enter(&other);
            self.remove(&other).await?;
            names.insert(name.clone());
            gone.insert(name);
        }
        Ok(match names.len() {
            1 if names.contains(thing.name()) => Verdict::Passed,
            1 => Verdict::Failed(format!("{:?} was told, and there is {names:?}", thing.name())),
            count => Verdict::Failed(format!("there are {count}: {names:?}")),
        })
    }

    /// The names of what bears its name or its marker; `None`: nobody could see more than one.
    pub(crate) async fn bearers(&self, thing: &Thing) -> Result<Option<BTreeSet<String>>, Stop> {
        // Whoever gives the name before it is made has one thing of that name at most.
        let is_named = self.kind.external_name.source != NameSource::Provider;
        let holds_marker = self.kind.capabilities.holds_marker;
        let by_marker = self.recovers_by(CreateRecovery::Marker);
        self.wait_out_window().await;
        let mut names = BTreeSet::new();
        if (is_named || holds_marker)
            && self.bench.info()?.lists_external
            && let Some(items) = list_all(self, 0).await?
        {
            let is_it =
                |name: &str, marker: &str| name == thing.name() || holds_marker && marker == thing.marker();
            names.extend(
                items
                    .into_iter()
                    .filter(|item| is_it(&item.external_name, &item.found_marker))
                    .map(|item| item.external_name),
            );
            return Ok(Some(names));
        }
        if !is_named && !by_marker {
            return Ok(None);
        }
        let looks = [Some(thing.clone()), by_marker.then(|| thing.clone().unnamed())];
        for asked in looks.iter().flatten() {
            if let Look::Found(found) = self.look(asked).await? {
                names.insert(found.external_name);
            }
        }
        Ok(Some(names))
    }
}
