//! What a plugin says of itself and of its kinds.

use bridge_core::{
    crd,
    kind::{Kind, PluginInfo},
    limits,
};
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::KindPage;

use super::{in_proportion, same};
use crate::{Target, Verdict, ensure, json, target::rejected};

/// An answer to `GetPluginInfo`.
pub(super) const INFO: Target = Target {
    name: "plugin-info",
    about: "GetPluginInfoResponse: what is accepted passes its own check, converts back, and keeps names within their limits",
    words: &[
        "example.org",
        "v1alpha1",
        "1.2.3",
        "settingsSchemaJson",
        "credentialKeys",
        "maxConcurrentCalls",
    ],
    judge: |input| {
        let Some(answer) = json::of_plugin::<wire::GetPluginInfoResponse>("GetPluginInfoResponse", input)
        else {
            return Ok("no message".to_owned());
        };
        let info = match PluginInfo::try_from(answer) {
            Ok(info) => info,
            Err(violation) => return rejected(&violation.to_string()),
        };
        ensure(info.check().is_ok(), || format!("its own check rejects {info:?}"))?;
        ensure(info.name.len() <= 63 && !info.name.is_empty(), || {
            format!("the name is {:?}", info.name)
        })?;
        let again = PluginInfo::try_from(wire::GetPluginInfoResponse::from(info.clone()));
        same("the plugin", &Some(info.clone()), &again.ok())?;
        Ok(format!("accepted: {}", info.max_concurrent_calls.min(3)))
    },
};

/// A page of kinds.
pub(super) const PAGE: Target = Target {
    name: "kind-page",
    about: "ListResourceKindsResponse: types have their forms, digests and tokens their limits",
    words: &["example.org", "v1", "Bucket", "nextPageToken"],
    judge: |input| {
        let Some(answer) =
            json::of_plugin::<wire::ListResourceKindsResponse>("ListResourceKindsResponse", input)
        else {
            return Ok("no message".to_owned());
        };
        let page = match KindPage::try_from(answer) {
            Ok(page) => page,
            Err(violation) => return rejected(&violation.to_string()),
        };
        for (kind, digest) in &page.kinds {
            ensure(kind.check().is_ok(), || format!("its own check rejects {kind}"))?;
            ensure(digest.len() <= limits::NAME, || {
                format!("a digest has {} bytes", digest.len())
            })?;
        }
        Ok(format!("accepted: {}", page.kinds.len().min(3)))
    },
};

/// A kind, and the CRD that is made of it.
pub(super) const KIND: Target = Target {
    name: "kind",
    about: "GetResourceKindResponse and the CRD of it: limits of schemas and rules hold, the CRD is of the kind's group, in proportion, and is its own equal",
    words: &[
        "/name",
        "/a/b",
        "/items/*/value",
        "type",
        "object",
        "string",
        "array",
        "properties",
        "items",
        "additionalProperties",
        "required",
        "x-kubernetes-preserve-unknown-fields",
        "$ref",
        "oneOf",
        "SENSITIVE",
        "IMMUTABLE",
        "enum",
        "default",
        "pattern",
    ],
    judge: |input| {
        let Some(answer) = json::of_plugin::<wire::GetResourceKindResponse>("GetResourceKindResponse", input)
        else {
            return Ok("no message".to_owned());
        };
        let kind = match Kind::try_from(answer) {
            Ok(kind) => kind,
            Err(violation) => return rejected(&violation.to_string()),
        };
        ensure(kind.check().is_ok(), || "its own check rejects it".to_owned())?;
        ensure(kind.field_rules.len() <= limits::RULES, || {
            format!("{} rules", kind.field_rules.len())
        })?;
        let schema = kind.parameters_schema.to_string().len();
        ensure(schema <= 2 * limits::SCHEMA, || {
            format!("a schema of {schema} bytes")
        })?;
        crd_of(&kind, input)
    },
};

fn crd_of(kind: &Kind, input: &[u8]) -> Verdict {
    let definition = match crd::managed(kind) {
        Ok(definition) => definition,
        Err(why) => {
            let why = why.to_string();
            ensure(why.contains(&kind.resource_type.kind), || {
                format!("the kind is not named: {why}")
            })?;
            return rejected(&why);
        }
    };
    let group = &definition["spec"]["group"];
    ensure(*group == kind.resource_type.group, || {
        format!("the CRD is of group {group}")
    })?;
    in_proportion("the CRD", definition.to_string().len(), input, 16)?;
    same("the CRD", &Some(&definition), &crd::managed(kind).ok().as_ref())?;
    let differences = crd::differences(&definition, &definition);
    ensure(differences.is_empty(), || {
        format!("it differs from itself: {differences:?}")
    })?;
    Ok(format!("CRD: {} rules", kind.field_rules.len().min(3)))
}
