//! Which composition a composite resource or a claim is composed by, and which revision of it.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use crate::{
    definition::{Machinery, Terms, UpdatePolicy},
    reasons::CompositeEvent,
    revision::{ActiveFunction, Composition, Revision, Validity, check_pipeline},
};

/// What an object says about its composition, in its machinery fields.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preferences {
    /// `compositionRef`
    pub composition: Option<String>,
    /// `compositionSelector`; empty: any of its type.
    pub selector: Option<BTreeMap<String, String>>,
    /// `compositionRevisionRef`
    pub revision: Option<String>,
    /// `compositionRevisionSelector`
    pub revision_selector: Option<BTreeMap<String, String>>,
    /// `compositionUpdatePolicy`; what is missing acts like `Automatic`, but for the selector of revisions.
    pub update_policy: Option<UpdatePolicy>,
}

impl Preferences {
    /// Reads them from an object. Claims have them in `spec`, as legacy composite resources do.
    pub fn read(object: &Value, machinery: Machinery) -> Self {
        let fields = object.pointer(machinery.pointer()).unwrap_or(&Value::Null);
        let name = |field: &str| fields[field]["name"].as_str().map(ToOwned::to_owned);
        let labels = |field: &str| {
            let labels = fields.get(field)?.get("matchLabels")?.as_object()?;
            let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
            Some(labels.iter().filter_map(text).collect())
        };
        Self {
            composition: name("compositionRef"),
            selector: labels("compositionSelector"),
            revision: name("compositionRevisionRef"),
            revision_selector: labels("compositionRevisionSelector"),
            update_policy: match fields["compositionUpdatePolicy"].as_str() {
                Some("Automatic") => Some(UpdatePolicy::Automatic),
                Some("Manual") => Some(UpdatePolicy::Manual),
                _ => None,
            },
        }
    }
}

/// What can be chosen from. The order of neither counts.
#[derive(Debug, Clone, Copy)]
pub struct Library<'a> {
    /// All compositions.
    pub compositions: &'a [Arc<Composition>],
    /// All revisions.
    pub revisions: &'a [Arc<Revision>],
    /// What is installed, by which a revision is judged whose status says nothing yet: nobody waits for that to be written. `None`: it is not known.
    pub functions: Option<&'a [ActiveFunction]>,
}

/// What was chosen, or what is missing.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// A revision that can be run.
    Chosen(Chosen),
    /// Something is missing, without which nothing is composed.
    Missing(Missing),
}

/// A revision that can be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// What is to be stored in the object.
    pub selected: Selected,
    /// The revision, with its pipeline.
    pub revision: Arc<Revision>,
}

/// What was chosen, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// Name of the composition.
    pub composition: String,
    /// Name of its revision.
    pub revision: String,
    /// The selector of revisions that the definition has for those without; `None`: the object's own, or none.
    pub revision_selector: Option<BTreeMap<String, String>>,
    /// What of it is news, in order; none: the object has it all already.
    pub changes: Vec<ChoiceChange>,
}

impl Selected {
    /// Machinery fields that the object is to have, and their values.
    pub fn machinery(&self) -> Vec<(&'static str, Value)> {
        let mut fields = vec![
            ("compositionRef", json!({ "name": self.composition })),
            ("compositionRevisionRef", json!({ "name": self.revision })),
        ];
        if let Some(labels) = &self.revision_selector {
            fields.push(("compositionRevisionSelector", json!({ "matchLabels": labels })));
        }
        fields
    }
}

/// What of a choice the object does not have yet. Each is an event of type Normal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChoiceChange {
    /// The composition that the definition enforces.
    Enforced,
    /// The definition's default composition.
    Default,
    /// The definition's default selector of revisions.
    DefaultRevisionSelector,
    /// The composition of this name.
    Composition(String),
    /// The revision of this name.
    Revision(String),
}

impl ChoiceChange {
    /// Reason of its event.
    pub const fn event(&self) -> CompositeEvent {
        match self {
            Self::Enforced | Self::Default | Self::DefaultRevisionSelector => {
                CompositeEvent::CompositionSelection
            }
            Self::Composition(_) | Self::Revision(_) => CompositeEvent::SelectComposition,
        }
    }

    /// Message of its event.
    pub fn message(&self) -> String {
        match self {
            Self::Enforced => "Enforced composition has been selected".into(),
            Self::Default => "Default composition has been selected".into(),
            Self::DefaultRevisionSelector => "Default revision selector has been selected".into(),
            Self::Composition(name) => format!("Successfully selected composition: {name}"),
            Self::Revision(name) => format!("Selected composition revision: {name}"),
        }
    }
}

/// What is missing, as the message of `Synced` has it. What it waits for, when it changes, leads to another choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// No composition of the type has the labels.
    #[error("cannot select Composition: no compatible Compositions found")]
    CompatibleComposition,
    /// The composition that is referred to.
    #[error(r#"cannot fetch Composition: cannot get Composition: Composition.apiextensions.crossplane.io "{name}" not found"#)]
    Composition {
        /// Its name.
        name: String,
    },
    /// The revision that is referred to.
    #[error(
        r#"cannot fetch Composition: cannot get CompositionRevision: CompositionRevision.apiextensions.crossplane.io "{name}" not found"#
    )]
    Revision {
        /// Its name.
        name: String,
    },
    /// The composition has no revision with the labels, or none at all yet.
    #[error("cannot fetch Composition: no compatible CompositionRevisions found")]
    CompatibleRevision {
        /// Name of the composition.
        composition: String,
    },
    /// Nothing is known about the pipeline yet: the revision is a new one, and which functions are installed is not known.
    #[error(
        "selected CompositionRevision {revision} does not have a valid function pipeline: pipeline status unknown"
    )]
    PipelineStatus {
        /// Its name.
        revision: String,
    },
    /// The pipeline cannot be run.
    #[error("selected CompositionRevision {revision} does not have a valid function pipeline: {message}")]
    ValidPipeline {
        /// Its name.
        revision: String,
        /// What is wrong with it.
        message: String,
    },
    /// The revision composes another type, or another version of it.
    #[error(
        "cannot configure composite resource: referenced composition is not compatible with this composite resource"
    )]
    CompatibleType {
        /// Name of the revision.
        revision: String,
    },
}

impl Missing {
    /// It is made up for soon by a controller of compositions or revisions, if that runs.
    pub const fn may_pass(&self) -> bool {
        matches!(
            self,
            Self::PipelineStatus { .. } | Self::CompatibleRevision { .. }
        )
    }

    /// Reason of its event, of type Warning.
    pub const fn event(&self) -> CompositeEvent {
        match self {
            Self::CompatibleComposition => CompositeEvent::SelectComposition,
            Self::Composition { .. }
            | Self::Revision { .. }
            | Self::CompatibleRevision { .. }
            | Self::PipelineStatus { .. }
            | Self::ValidPipeline { .. }
            | Self::CompatibleType { .. } => CompositeEvent::ComposeResources,
        }
    }
}

/// Chooses composition and revision. Where Crossplane draws, the first by name is taken; a reference that is set moves only by enforcement, or to a newer
/// revision unless the policy is `Manual`.
pub fn choose(terms: &Terms, preferences: &Preferences, library: Library<'_>) -> Choice {
    match try_choose(terms, preferences, library) {
        Ok(chosen) => Choice::Chosen(chosen),
        Err(missing) => Choice::Missing(missing),
    }
}

fn try_choose(terms: &Terms, preferences: &Preferences, library: Library<'_>) -> Result<Chosen, Missing> {
    let mut changes = Vec::new();
    let composition = composition(terms, preferences, library, &mut changes)?;
    if preferences.composition.as_ref() != Some(&composition) {
        changes.push(ChoiceChange::Composition(composition.clone()));
    }
    let has_none = preferences.revision.is_none() && preferences.revision_selector.is_none();
    let revision_selector = terms.default_revision_selector.clone().filter(|_| has_none);
    if revision_selector.is_some() {
        changes.push(ChoiceChange::DefaultRevisionSelector);
    }
    let selector = revision_selector
        .as_ref()
        .or(preferences.revision_selector.as_ref());
    // Claims have no default of their own: their composite resource has the definition's.
    let policy = preferences.update_policy.or(terms.default_update_policy);
    let pinned = preferences
        .revision
        .as_ref()
        .filter(|_| policy == Some(UpdatePolicy::Manual));
    let revision = if let Some(name) = pinned {
        named(name, library)?
    } else {
        // Crossplane looks at the selector of those alone that say that they move.
        let selector = selector.filter(|_| policy == Some(UpdatePolicy::Automatic));
        latest(&composition, selector, library)?
    };
    check(terms, revision, library.functions)?;
    if preferences.revision.as_ref() != Some(&revision.name) {
        changes.push(ChoiceChange::Revision(revision.name.clone()));
    }
    Ok(Chosen {
        selected: Selected {
            composition,
            revision: revision.name.clone(),
            revision_selector,
            changes,
        },
        revision: Arc::clone(revision),
    })
}

/// Name of the composition, which need not exist where it is given.
fn composition(
    terms: &Terms,
    preferences: &Preferences,
    library: Library<'_>,
    changes: &mut Vec<ChoiceChange>,
) -> Result<String, Missing> {
    let given = preferences.composition.as_ref();
    if let Some(enforced) = &terms.enforced_composition {
        if given != Some(enforced) {
            changes.push(ChoiceChange::Enforced);
        }
        return Ok(enforced.clone());
    }
    if let Some(given) = given {
        return Ok(given.clone());
    }
    if let (None, Some(default)) = (&preferences.selector, &terms.default_composition) {
        changes.push(ChoiceChange::Default);
        return Ok(default.clone());
    }
    let api_version = terms.api_version();
    let compatible = library.compositions.iter().filter(|composition| {
        composition.type_ref.api_version == api_version
            && composition.type_ref.kind == terms.kind.kind()
            && has_labels(&composition.labels, preferences.selector.as_ref())
    });
    let names = compatible.map(|composition| &composition.name);
    names.min().cloned().ok_or(Missing::CompatibleComposition)
}

fn named<'a>(name: &str, library: Library<'a>) -> Result<&'a Arc<Revision>, Missing> {
    let mut revisions = library.revisions.iter();
    revisions
        .find(|revision| revision.name == name)
        .ok_or_else(|| Missing::Revision {
            name: name.to_owned(),
        })
}

fn latest<'a>(
    composition: &str,
    selector: Option<&BTreeMap<String, String>>,
    library: Library<'a>,
) -> Result<&'a Arc<Revision>, Missing> {
    let mut compositions = library.compositions.iter();
    let found = compositions
        .find(|found| found.name == composition)
        .ok_or_else(|| Missing::Composition {
            name: composition.to_owned(),
        })?;
    let compatible = library.revisions.iter().filter(|revision| {
        revision.composition() == Some(composition)
            && revision.is_controlled_by(&found.uid)
            && has_labels(&revision.labels, selector)
    });
    compatible
        .max_by(|a, b| a.number.cmp(&b.number).then_with(|| b.name.cmp(&a.name)))
        .ok_or_else(|| Missing::CompatibleRevision {
            composition: composition.to_owned(),
        })
}

/// The pipeline can be run, for this type.
fn check(terms: &Terms, revision: &Revision, functions: Option<&[ActiveFunction]>) -> Result<(), Missing> {
    let name = || revision.name.clone();
    let validity = match (&revision.validity, functions) {
        (Validity::Unknown, Some(functions)) => check_pipeline(revision, functions).into(),
        (validity, _) => validity.clone(),
    };
    match validity {
        Validity::Valid => {}
        Validity::Unknown => return Err(Missing::PipelineStatus { revision: name() }),
        Validity::Invalid(message) => {
            return Err(Missing::ValidPipeline {
                revision: name(),
                message,
            });
        }
    }
    let is_of_type =
        revision.type_ref.api_version == terms.api_version() && revision.type_ref.kind == terms.kind.kind();
    if is_of_type {
        Ok(())
    } else {
        Err(Missing::CompatibleType { revision: name() })
    }
}

fn has_labels(labels: &BTreeMap<String, String>, selector: Option<&BTreeMap<String, String>>) -> bool {
    let mut wanted = selector.into_iter().flatten();
    wanted.all(|(name, value)| labels.get(name) == Some(value))
}
