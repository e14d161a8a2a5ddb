//! How many there are of what was created once.

use std::collections::BTreeSet;

use crossbridge_types::{CreateRecovery, NameSource, ObserveResult};
use uuid::Uuid;

use super::{KindContext, TestResource, list_all};
use crate::verdict::{Stop, Verdict};

/// More than any repeat creates.
const REPEATS_LIMIT: usize = 30;

/// Of a kind of which a second one would not be seen.
const UNCOUNTABLE: &str = "cannot be seen: there may be a second one, as the upstream gives the names, and the kind neither lists what \
                           has its marker nor finds it by it";

impl KindContext {
    /// Counts the resources that its creation left upstream, and deletes all of them: exactly one is expected.
    pub(crate) async fn count_and_delete(&self, resource: &TestResource) -> Result<Verdict, Stop> {
        let Some(mut found) = self.matching_names(resource).await? else {
            self.remove(resource).await?;
            return Ok(Verdict::NotApplicable(UNCOUNTABLE.to_owned()));
        };
        self.remove(resource).await?;
        let mut names = found.clone();
        found.remove(resource.name());
        let mut deleted = BTreeSet::from([resource.name().to_owned()]);
        // An observation by marker finds one at a time.
        for _ in 0..REPEATS_LIMIT {
            let Some(name) = found.pop_first() else {
                found = self.matching_names(resource).await?.unwrap_or_default();
                found.retain(|name| !deleted.contains(name));
                if found.is_empty() {
                    break;
                }
                continue;
            };
            let mut other = resource.clone();
            other.token = Uuid::new_v4().to_string();
            other.target.external_name.clone_from(&name);
            self.run_ctx.registry.add(&other);
            self.remove(&other).await?;
            names.insert(name.clone());
            deleted.insert(name);
        }
        Ok(match names.len() {
            1 if names.contains(resource.name()) => Verdict::Passed,
            1 => Verdict::Failed(format!(
                "{:?} was reported, and {names:?} exists",
                resource.name()
            )),
            count => Verdict::Failed(format!("there are {count}: {names:?}")),
        })
    }

    /// The names of the resources with its name or its marker; `None`: a second one could not be seen.
    pub(crate) async fn matching_names(
        &self,
        resource: &TestResource,
    ) -> Result<Option<BTreeSet<String>>, Stop> {
        // Where the name is known beforehand, at most one resource has it.
        let is_named = self.kind.external_name.source != NameSource::Provider;
        let holds_marker = self.kind.capabilities.holds_marker;
        let by_marker = self.recovers_by(CreateRecovery::Marker);
        self.wait_for_consistency().await;
        let mut names = BTreeSet::new();
        if (is_named || holds_marker)
            && self.run_ctx.info()?.lists_external
            && let Some(items) = list_all(self, 0).await?
        {
            let is_it = |name: &str, marker: &str| {
                name == resource.name() || holds_marker && marker == resource.marker()
            };
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
        let observations = [
            Some(resource.clone()),
            by_marker.then(|| resource.clone().without_name()),
        ];
        for asked in observations.iter().flatten() {
            if let ObserveResult::Found(found) = self.observe(asked).await? {
                names.insert(found.external_name);
            }
        }
        Ok(Some(names))
    }
}
