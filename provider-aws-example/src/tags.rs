//! Tags: those of the user, those of AWS, and the ownership marker, which is a tag too.

use std::collections::BTreeMap;

use crate::validation::Violations;

/// Values of tags by key.
pub(crate) type Tags = BTreeMap<String, String>;

/// The tag that holds the ownership marker.
pub(crate) const MARKER_TAG: &str = "crossbridge.dev/owner";

/// The tag that identifies the request that created a resource, for kinds that must distinguish requests.
pub(crate) const REQUEST_TAG: &str = "crossbridge.dev/request";

/// Prefix of AWS's own tags, which cannot be written.
const AWS_PREFIX: &str = "aws:";

/// How many tags AWS allows on a resource, less the two of the plugin.
const MAX_TAGS: usize = 48;

/// Who owns a resource, by its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The object on whose behalf the call is sent.
    Owned,
    /// It has no marker: the owner is unknown.
    Unmarked,
    /// Its marker is that of another object.
    Foreign,
}

/// All tags of a resource as AWS reports them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObservedTags(Tags);

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for ObservedTags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(tags: I) -> Self {
        Self(
            tags.into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl ObservedTags {
    /// The ownership marker, or nothing.
    pub(crate) fn marker(&self) -> &str {
        self.0.get(MARKER_TAG).map_or("", String::as_str)
    }

    /// The request that created the resource, if it is known.
    pub(crate) fn request(&self) -> Option<&str> {
        self.0.get(REQUEST_TAG).map(String::as_str)
    }

    /// Without the tags of the plugin and of AWS: those that `spec.forProvider.tags` is about.
    pub(crate) fn of_user(&self) -> Tags {
        let is_user = |key: &str| !is_reserved(key) && !key.starts_with(AWS_PREFIX);
        self.0
            .iter()
            .filter(|(key, _)| is_user(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// The tags that AWS itself has set: those with the prefix `aws:`.
    pub(crate) fn of_aws(&self) -> Tags {
        let of_aws = self.0.iter().filter(|(key, _)| key.starts_with(AWS_PREFIX));
        of_aws.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// The tags after a change, which AWS may report late.
    pub(crate) fn after(mut self, change: TagChange) -> Self {
        self.0.retain(|key, _| !change.remove.contains(key));
        self.0.extend(change.set);
        self
    }

    /// What to write and what to remove, so that the desired tags and the marker are set. Without desired tags, the user's stay.
    pub(crate) fn change(&self, desired: Option<&Tags>, marker: &str) -> TagChange {
        let target = with_marker(desired, marker);
        let set = target
            .iter()
            .filter(|(key, value)| self.0.get(*key) != Some(value));
        let remove = match desired {
            Some(_) => self
                .of_user()
                .into_keys()
                .filter(|key| !target.contains_key(key))
                .collect(),
            None => Vec::new(),
        };
        TagChange {
            set: set.map(|(key, value)| (key.clone(), value.clone())).collect(),
            remove,
        }
    }
}

/// Whether only the plugin writes this tag.
fn is_reserved(key: &str) -> bool {
    [MARKER_TAG, REQUEST_TAG].contains(&key)
}

/// How to get from the observed tags to the desired ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TagChange {
    pub(crate) set: Tags,
    pub(crate) remove: Vec<String>,
}

impl TagChange {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }

    /// Sends what there is to send, additions first: the marker among them must be on the resource as early as can be.
    pub(crate) async fn apply<S, R, E>(
        self,
        set: impl FnOnce(Tags) -> S,
        remove: impl FnOnce(Vec<String>) -> R,
    ) -> Result<(), E>
    where
        S: Future<Output = Result<(), E>>,
        R: Future<Output = Result<(), E>>,
    {
        if !self.set.is_empty() {
            set(self.set).await?;
        }
        if !self.remove.is_empty() {
            remove(self.remove).await?;
        }
        Ok(())
    }
}

/// The tags of a new resource: the desired ones and the marker.
pub(crate) fn with_marker(desired: Option<&Tags>, marker: &str) -> Tags {
    let mut tags = desired.cloned().unwrap_or_default();
    tags.insert(MARKER_TAG.to_owned(), marker.to_owned());
    tags
}

/// Reports tags that AWS would reject, and those that collide with the plugin's own.
pub(crate) fn check(tags: Option<&Tags>, violations: &mut Violations) {
    let Some(tags) = tags else { return };
    if tags.len() > MAX_TAGS {
        violations.add("/tags", format!("at most {MAX_TAGS} tags are possible"));
    }
    for (key, value) in tags {
        let at = format!("/tags/{}", key.replace('~', "~0").replace('/', "~1"));
        if is_reserved(key) || key.to_ascii_lowercase().starts_with(AWS_PREFIX) {
            violations.add(at, format!("the tag {key:?} is reserved"));
        } else if key.is_empty() || key.chars().count() > 128 {
            violations.add(at, "a tag's key has 1 to 128 characters");
        } else if value.chars().count() > 256 {
            violations.add(at, "a tag's value has at most 256 characters");
        }
    }
}

#[cfg(test)]
mod tests;
