//! The terms of a type: all that passes over its objects read of the definition.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Definition, DefinitionRejected, DefinitionVersion, DeletePolicy, Scope, UpdatePolicy};
use crate::watch_plan::GroupKind;

/// Where the machinery fields of an object stand: references, selectors and policies of the composition layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machinery {
    /// Among the author's fields: legacy composite resources, and claims.
    Spec,
    /// In an object of their own.
    SpecCrossplane,
}

impl Machinery {
    /// Names of the fields that lead there, from the outermost.
    pub const fn path(self) -> &'static [&'static str] {
        match self {
            Self::Spec => &["spec"],
            Self::SpecCrossplane => &["spec", "crossplane"],
        }
    }

    /// As JSON Pointer.
    pub const fn pointer(self) -> &'static str {
        match self {
            Self::Spec => "/spec",
            Self::SpecCrossplane => "/spec/crossplane",
        }
    }
}

/// The claims of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimTerms {
    /// Group and kind.
    pub kind: GroupKind,
    /// Plural; with the group, the name of the CRD.
    pub plural: String,
    /// How they delete their composite resource, unless they say otherwise.
    pub default_delete_policy: Option<DeletePolicy>,
}

/// What a definition says about its type, apart from schemas. A change of it restarts nothing: passes read the present value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Terms {
    /// Name of the definition, and of the CRD.
    pub definition: String,
    /// The one definition that is meant.
    pub definition_uid: String,
    /// Group and kind of the composite resources.
    pub kind: GroupKind,
    /// Plural.
    pub plural: String,
    /// The version in which the bridge reads and writes.
    pub version: String,
    /// All that the API server serves, in the author's order.
    pub served: Vec<String>,
    /// Where they live.
    pub scope: Scope,
    /// Where their machinery fields stand.
    pub machinery: Machinery,
    /// The claims; `None`: none are offered.
    pub claim: Option<ClaimTerms>,
    /// Keys of connection Secrets that are published; empty: all.
    pub connection_keys: BTreeSet<String>,
    /// Composition of those that name none.
    pub default_composition: Option<String>,
    /// Composition of all, whatever they name.
    pub enforced_composition: Option<String>,
    /// Labels of the revisions to choose from, for those that say nothing about it.
    pub default_revision_selector: Option<BTreeMap<String, String>>,
    /// When they move to a newer revision, unless they say otherwise: the default that the CRD has.
    pub default_update_policy: Option<UpdatePolicy>,
}

impl Terms {
    /// The terms of the type of a definition.
    ///
    /// # Errors
    /// [`DefinitionRejected`]: its name, its versions, or the names of its claims. Schemas are not looked at.
    pub fn of(definition: &Definition) -> Result<Self, DefinitionRejected> {
        let wanted = format!("{}.{}", definition.names.plural, definition.group);
        if definition.name != wanted {
            return Err(DefinitionRejected::Misnamed { wanted });
        }
        if definition.selects_by_expressions {
            return Err(DefinitionRejected::Field {
                field: "spec.defaultCompositionRevisionSelector.matchExpressions".into(),
                why: "composite resources select revisions by matchLabels alone".into(),
            });
        }
        let version = referenceable(&definition.versions)?;
        let served = definition.versions.iter().filter(|version| version.served);
        let served = served.map(|version| version.name.clone()).collect();
        Ok(Self::in_version(
            definition,
            &version.name,
            served,
            claim(definition)?,
        ))
    }

    /// The terms of the type as its CRD serves it now, whatever the definition was edited to since: objects are read and written in the version in which
    /// that CRD stores them. `None`: it serves none.
    pub fn as_served(definition: &Definition, crd: &Value) -> Option<Self> {
        let version = readable_version(crd)?;
        let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        let served = versions.filter(|version| version["served"] == true);
        let served = served.filter_map(|version| Some(version["name"].as_str()?.to_owned()));
        // Names that are refused are not served.
        let claim = claim(definition).ok().flatten();
        Some(Self::in_version(definition, version, served.collect(), claim))
    }

    fn in_version(
        definition: &Definition,
        version: &str,
        served: Vec<String>,
        claim: Option<ClaimTerms>,
    ) -> Self {
        let machinery = match definition.scope {
            Scope::LegacyCluster => Machinery::Spec,
            Scope::Namespaced | Scope::Cluster => Machinery::SpecCrossplane,
        };
        Self {
            definition: definition.name.clone(),
            definition_uid: definition.uid.clone(),
            kind: GroupKind::new(&definition.group, &definition.names.kind),
            plural: definition.names.plural.clone(),
            version: version.to_owned(),
            served,
            scope: definition.scope,
            machinery,
            claim,
            connection_keys: definition.connection_keys.iter().cloned().collect(),
            default_composition: definition.default_composition.clone(),
            enforced_composition: definition.enforced_composition.clone(),
            default_revision_selector: definition.default_revision_selector.clone(),
            default_update_policy: definition.default_update_policy,
        }
    }

    /// `apiVersion` of the composite resources, as the bridge reads and writes them, and as compositions name them.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.kind.group(), self.version)
    }

    /// They live in namespaces.
    pub const fn is_namespaced(&self) -> bool {
        matches!(self.scope, Scope::Namespaced)
    }

    /// They have claims, connection Secrets, and machinery fields in `spec`.
    pub const fn is_legacy(&self) -> bool {
        matches!(self.scope, Scope::LegacyCluster)
    }
}

/// The version in which all objects of a CRD can be read and written: that in which they are stored, if it is served. `None`: none is served.
pub fn readable_version(crd: &Value) -> Option<&str> {
    let versions = crd["spec"]["versions"].as_array()?;
    let mut served = versions.iter().filter(|version| version["served"] == true);
    let stored = served.clone().find(|version| version["storage"] == true);
    stored.or_else(|| served.next())?["name"].as_str()
}

fn referenceable(versions: &[DefinitionVersion]) -> Result<&DefinitionVersion, DefinitionRejected> {
    let referenceable: Vec<&DefinitionVersion> =
        versions.iter().filter(|version| version.referenceable).collect();
    match referenceable[..] {
        [] => Err(DefinitionRejected::NoReferenceable),
        [version] if !version.served => Err(DefinitionRejected::ReferenceableNotServed {
            name: version.name.clone(),
        }),
        [version] => Ok(version),
        _ => Err(DefinitionRejected::SeveralReferenceable {
            names: referenceable
                .into_iter()
                .map(|version| version.name.clone())
                .collect(),
        }),
    }
}

fn claim(definition: &Definition) -> Result<Option<ClaimTerms>, DefinitionRejected> {
    let Some(claim) = &definition.claim_names else {
        return Ok(None);
    };
    if definition.scope != Scope::LegacyCluster {
        return Err(DefinitionRejected::ClaimsNotOffered);
    }
    let composite = &definition.names;
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let pairs = [
        (Some(claim.kind.clone()), Some(composite.kind.clone())),
        (Some(claim.plural.clone()), Some(composite.plural.clone())),
        (given(&claim.singular), given(&composite.singular)),
        (given(&claim.list_kind), given(&composite.list_kind)),
    ];
    let conflict = pairs.into_iter().find_map(|(claim, composite)| {
        let name = claim?;
        (composite? == name).then_some(name)
    });
    if let Some(name) = conflict {
        return Err(DefinitionRejected::ClaimNameConflict { name });
    }
    Ok(Some(ClaimTerms {
        kind: GroupKind::new(&definition.group, &claim.kind),
        plural: claim.plural.clone(),
        default_delete_policy: definition.default_delete_policy,
    }))
}
