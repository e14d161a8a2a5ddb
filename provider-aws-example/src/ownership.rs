//! Tags: those of the user, those of AWS, and the one that says whose a resource is.

use std::collections::BTreeMap;

use crossbridge_sdk::{Failure, Target};

use crate::violations::Violations;

/// Tags by key.
pub(crate) type Tags = BTreeMap<String, String>;

/// The tag that holds the ownership marker.
pub(crate) const MARKER_TAG: &str = "crossbridge.dev/owner";

/// The tag that tells which request made a resource, for kinds that have to tell requests apart.
pub(crate) const REQUEST_TAG: &str = "crossbridge.dev/request";

/// Tags that begin so are AWS's own, and cannot be written.
const AWS_PREFIX: &str = "aws:";

/// The most that a resource may have, the two of ours not counted.
const MOST_TAGS: usize = 48;

/// Whose a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The object's on whose behalf the call is made.
    Ours,
    /// It has no marker.
    Nobody,
    /// Another object's.
    Another,
}

/// The tags found on a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundTags(Tags);

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for FoundTags {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(tags: I) -> Self {
        Self(
            tags.into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }
}

impl FoundTags {
    /// The marker, or nothing.
    pub(crate) fn marker(&self) -> &str {
        self.0.get(MARKER_TAG).map_or("", String::as_str)
    }

    /// Which request made it, or nothing.
    #[cfg(feature = "cloudfront")]
    pub(crate) fn request(&self) -> Option<&str> {
        self.0.get(REQUEST_TAG).map(String::as_str)
    }

    pub(crate) fn owner(&self, target: &Target) -> Owner {
        match self.marker() {
            "" => Owner::Nobody,
            marker if target.is_ours(marker) => Owner::Ours,
            _ => Owner::Another,
        }
    }

    /// What the user sees as tags.
    pub(crate) fn of_user(&self) -> Tags {
        let is_user = |key: &str| !is_ours(key) && !key.starts_with(AWS_PREFIX);
        self.0
            .iter()
            .filter(|(key, _)| is_user(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// What AWS itself has put there.
    #[cfg(feature = "s3")]
    pub(crate) fn of_aws(&self) -> Tags {
        let of_aws = self.0.iter().filter(|(key, _)| key.starts_with(AWS_PREFIX));
        of_aws.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// As they are after a change.
    #[cfg(any(feature = "dynamodb", feature = "sqs"))]
    pub(crate) fn with(mut self, change: TagChange) -> Self {
        self.0.retain(|key, _| !change.remove.contains(key));
        self.0.extend(change.set);
        self
    }

    /// What has to be written and what has to go for the wish and our marker to be there. Without a wish, the user's tags stay.
    pub(crate) fn change(&self, wish: Option<&Tags>, marker: &str) -> TagChange {
        let wanted = wanted(wish, marker);
        let set = wanted
            .iter()
            .filter(|(key, value)| self.0.get(*key) != Some(value));
        let remove = match wish {
            Some(_) => self
                .of_user()
                .into_keys()
                .filter(|key| !wanted.contains_key(key))
                .collect(),
            None => Vec::new(),
        };
        TagChange {
            set: set.map(|(key, value)| (key.clone(), value.clone())).collect(),
            remove,
        }
    }
}

/// Whether we write this tag, and nobody else.
fn is_ours(key: &str) -> bool {
    [MARKER_TAG, REQUEST_TAG].contains(&key)
}

/// How to get from the tags that are there to those that should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TagChange {
    pub(crate) set: Tags,
    pub(crate) remove: Vec<String>,
}

impl TagChange {
    pub(crate) fn is_empty(&self) -> bool {
        self.set.is_empty() && self.remove.is_empty()
    }
}

/// The tags of a new resource.
pub(crate) fn wanted(wish: Option<&Tags>, marker: &str) -> Tags {
    let mut tags = wish.cloned().unwrap_or_default();
    tags.insert(MARKER_TAG.to_owned(), marker.to_owned());
    tags
}

/// What AWS would refuse, and what would collide with the marker.
pub(crate) fn check(tags: Option<&Tags>, violations: &mut Violations) {
    let Some(tags) = tags else { return };
    if tags.len() > MOST_TAGS {
        violations.add("/tags", format!("at most {MOST_TAGS} tags are possible"));
    }
    for (key, value) in tags {
        let at = format!("/tags/{}", key.replace('~', "~0").replace('/', "~1"));
        if is_ours(key) || key.to_ascii_lowercase().starts_with(AWS_PREFIX) {
            violations.add(at, format!("the tag {key:?} is reserved"));
        } else if key.is_empty() || key.chars().count() > 128 {
            violations.add(at, "a tag's key has 1 to 128 characters");
        } else if value.chars().count() > 256 {
            violations.add(at, "a tag's value has at most 256 characters");
        }
    }
}

/// What a change of another's resource is answered: for us it is not there.
pub(crate) fn not_ours(what: &str) -> Failure {
    Failure::not_found(format!(
        "{what} belongs to another object, as its tag {MARKER_TAG} says"
    ))
    .reason("NotOurs")
}

#[cfg(test)]
mod tests;
