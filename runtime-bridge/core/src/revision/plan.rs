//! What is done about the revisions of a composition.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    COMPOSITION, COMPOSITION_HASH, COMPOSITION_NAME, COMPOSITION_REVISION, Composition, Content, Revision,
    content::{copied_annotations, copied_labels},
};
use crate::{controller_ref::ControllerRef, definition::API_VERSION};

/// Which old revisions go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection<'a> {
    /// None: without a limit, or while it is not known which are referred to.
    Off,
    /// All beyond so many of the latest that nobody refers to.
    Beyond {
        /// How many are kept, the latest included; at least one is.
        limit: usize,
        /// Names of those that a composite resource or a claim refers to.
        referenced: &'a BTreeSet<String>,
    },
}

/// One step. Those of one plan do not depend on each other.
#[derive(Debug, Clone, PartialEq)]
pub enum RevisionStep {
    /// A new revision.
    Create(Value),
    /// A revision of this name is still being deleted: then another follows.
    Await {
        /// Its name.
        name: String,
    },
    /// A revision that exists is changed.
    Update(RevisionUpdate),
    /// A revision that nobody refers to.
    Delete {
        /// Its name.
        name: String,
        /// The one object that is meant.
        uid: String,
        /// The version that was decided on.
        resource_version: String,
    },
}

/// What becomes of a revision that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionUpdate {
    /// Its name.
    pub name: String,
    /// The one object that is meant.
    pub uid: String,
    /// The version that was decided on.
    pub resource_version: String,
    /// What controls it from now on; `None`: as it is.
    pub controller: Option<ControllerRef>,
    /// Its number from now on; `None`: as it is.
    pub number: Option<i64>,
}

impl RevisionUpdate {
    /// The object as it is to be, of the version that was decided on.
    pub fn applied_to(&self, object: &Value) -> Value {
        let mut changed = object.clone();
        if let Some(controller) = &self.controller {
            controller.set_on(&mut changed);
        }
        if let Some(number) = self.number {
            changed["spec"]["revision"] = json!(number);
        }
        changed
    }
}

/// What is done about the revisions of a composition; nothing, when all is as it should be.
///
/// `revisions` are those with its label or a name that begins with its own; others do no harm. The order of them does not count.
pub fn plan(
    composition: &Composition,
    revisions: &[Revision],
    collection: Collection<'_>,
) -> Vec<RevisionStep> {
    if composition.is_deleting {
        return Vec::new();
    }
    let mut own: Vec<&Revision> = revisions
        .iter()
        .filter(|revision| is_own(composition, revision) && !revision.is_deleting)
        .collect();
    // The latest first.
    own.sort_by(|a, b| b.number.cmp(&a.number).then_with(|| a.name.cmp(&b.name)));
    let latest = own.first().map_or(0, |revision| revision.number);
    let content = Content::of(composition);
    let hash = content.hash();
    let current = own
        .iter()
        .copied()
        .find(|revision| is_of_content(revision, &content, &hash));
    let mut steps: Vec<RevisionStep> = own
        .iter()
        .filter_map(|revision| {
            let is_behind = current.is_some_and(|current| current.uid == revision.uid)
                && own.first().is_some_and(|first| first.uid != revision.uid);
            update(composition, revision, is_behind.then_some(latest + 1))
        })
        .collect();
    if current.is_none() {
        steps.push(create(composition, &content, revisions, latest + 1));
    }
    if steps.is_empty() {
        steps = collect(&own, collection);
    }
    steps
}

/// It has the label, and nothing controls it but this composition. A namesake of the composition that controls it is gone: names are taken once.
fn is_own(composition: &Composition, revision: &Revision) -> bool {
    let has_label = revision.composition() == Some(composition.name.as_str());
    has_label
        && revision.controller.as_ref().is_none_or(|controller| {
            controller.uid == composition.uid
                || (controller.kind == COMPOSITION
                    && controller.name == composition.name
                    && controller.api_version.starts_with("apiextensions.crossplane.io/"))
        })
}

/// By its content, or by our label: people put labels of their own on revisions.
fn is_of_content(revision: &Revision, content: &Content, hash: &str) -> bool {
    let its = Content::of_revision(revision);
    its == *content || (revision.hash() == Some(hash) && its.has_spec_of(content))
}

fn update(composition: &Composition, revision: &Revision, number: Option<i64>) -> Option<RevisionStep> {
    let is_controlled = revision.is_controlled_by(&composition.uid);
    let controller = (!is_controlled).then(|| composition.controller_ref());
    (controller.is_some() || number.is_some()).then(|| {
        RevisionStep::Update(RevisionUpdate {
            name: revision.name.clone(),
            uid: revision.uid.clone(),
            resource_version: revision.resource_version.clone(),
            controller,
            number,
        })
    })
}

fn create(composition: &Composition, content: &Content, revisions: &[Revision], number: i64) -> RevisionStep {
    let taken = |name: &str| revisions.iter().find(|revision| revision.name == name);
    // One of another content has the name if its spec was changed by hand, or if nobody made it for this composition.
    let mut names = content.names(&composition.name);
    let usual = names.next().unwrap_or_default();
    let name = match taken(&usual) {
        None => usual,
        Some(revision) if revision.is_deleting => return RevisionStep::Await { name: usual },
        Some(_) => names.find(|name| taken(name).is_none()).unwrap_or(usual),
    };
    let mut labels = copied_labels(&composition.labels);
    labels.insert(COMPOSITION_NAME.into(), composition.name.clone());
    labels.insert(COMPOSITION_HASH.into(), content.hash());
    let mut object = json!({
        "apiVersion": API_VERSION,
        "kind": COMPOSITION_REVISION,
        "metadata": {
            "name": name,
            "labels": labels,
            "ownerReferences": [composition.controller_ref().to_value()],
        },
        "spec": composition.spec,
    });
    object["spec"]["revision"] = json!(number);
    let annotations = copied_annotations(&composition.annotations);
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = json!(annotations);
    }
    RevisionStep::Create(object)
}

/// `own` begins with the latest, which stays.
fn collect(own: &[&Revision], collection: Collection<'_>) -> Vec<RevisionStep> {
    let Collection::Beyond { limit, referenced } = collection else {
        return Vec::new();
    };
    own.iter()
        .skip(limit.max(1))
        .filter(|revision| !referenced.contains(&revision.name))
        .map(|revision| RevisionStep::Delete {
            name: revision.name.clone(),
            uid: revision.uid.clone(),
            resource_version: revision.resource_version.clone(),
        })
        .collect()
}
