//! What platform teams write, and what the API server asks the webhook.

use bridge_core::{
    composite::PipelineSpec,
    crd,
    definition::{Definition, Terms},
    protection::guard::{Review, UsageNote, UsedName, Verdict as Answered, judge},
    revision::{Composition, Revision},
};
use jiff::Timestamp;
use serde_json::Value;

use super::{in_proportion, object::json, same};
use crate::{Target, Verdict, ensure, target::rejected};

/// A definition, and the CRDs of it.
pub(super) const DEFINITION: Target = Target {
    name: "definition",
    about: "CompositeResourceDefinitions: the CRDs made of one are of its group, in proportion, and their own equals; a rejection says why",
    words: &[
        "spec",
        "group",
        "names",
        "claimNames",
        "versions",
        "schema",
        "openAPIV3Schema",
        "served",
        "referenceable",
        "scope",
        "Cluster",
        "LegacyCluster",
        "Namespaced",
        "apiextensions.crossplane.io/v1",
        "type",
        "object",
        "properties",
        "additionalPrinterColumns",
    ],
    judge: |input| {
        let Some(value) = json(input) else {
            return Ok("no JSON".to_owned());
        };
        let definition = match Definition::read(&value) {
            Ok(definition) => definition,
            Err(why) => return rejected(&why.to_string()),
        };
        let terms = match Terms::of(&definition) {
            Ok(terms) => terms,
            Err(why) => return rejected(&why.to_string()),
        };
        let composite = match crd::composite(&definition, &terms) {
            Ok(composite) => composite,
            Err(why) => return rejected(&why.to_string()),
        };
        crd_of(&definition, &composite, input)?;
        let has_claims = match crd::claim(&definition, &terms) {
            Ok(Some(claim)) => {
                crd_of(&definition, &claim, input)?;
                true
            }
            Ok(None) => false,
            Err(why) => return rejected(&why.to_string()),
        };
        let served = Terms::as_served(&definition, &composite).map(|terms| terms.api_version());
        Ok(format!(
            "CRDs: {} {has_claims} {}",
            definition.versions.len().min(3),
            served.is_some()
        ))
    },
};

fn crd_of(definition: &Definition, of: &Value, input: &[u8]) -> Verdict {
    let group = &of["spec"]["group"];
    ensure(*group == definition.group, || {
        format!("the CRD is of group {group}")
    })?;
    in_proportion("the CRD", of.to_string().len(), input, 16)?;
    let differences = crd::differences(of, of);
    ensure(differences.is_empty(), || {
        format!("it differs from itself: {differences:?}")
    })?;
    Ok(String::new())
}

/// A composition, and a revision of it.
pub(super) const COMPOSITION: Target = Target {
    name: "composition",
    about: "Compositions and their revisions: every step that is accepted has a name of its own and a function",
    words: &[
        "spec",
        "pipeline",
        "step",
        "functionRef",
        "name",
        "input",
        "credentials",
        "source",
        "Secret",
        "secretRef",
        "requirements",
        "requiredResources",
        "compositeTypeRef",
        "mode",
        "Pipeline",
        "matchLabels",
    ],
    judge: |input| {
        let Some(value) = json(input) else {
            return Ok("no JSON".to_owned());
        };
        let (composition, revision) = (Composition::read(&value), Revision::read(&value));
        in_proportion("the composition", format!("{composition:?}").len(), input, 64)?;
        let functions = revision.functions().count();
        let pipeline = match PipelineSpec::parse(&value["spec"]["pipeline"]) {
            Ok(pipeline) => pipeline,
            Err(why) => return rejected(&why.to_string()),
        };
        for (at, step) in pipeline.steps.iter().enumerate() {
            ensure(!step.step.is_empty(), || "a step has no name".to_owned())?;
            ensure(
                pipeline.steps[..at].iter().all(|other| other.step != step.step),
                || format!("two steps are {:?}", step.step),
            )?;
        }
        same(
            "the pipeline",
            &Ok(pipeline.clone()),
            &PipelineSpec::parse(&value["spec"]["pipeline"]),
        )?;
        let required = pipeline.requirements();
        Ok(format!(
            "{} steps, {functions}, {}",
            pipeline.steps.len().min(3),
            required.is_empty()
        ))
    },
};

/// A request to the webhook.
pub(super) const ADMISSION_REVIEW: Target = Target {
    name: "admission-review",
    about: "AdmissionReview: the answer bears the question's uid; only a DELETE of what nothing uses is allowed; what is used is refused for good",
    words: &[
        "DELETE",
        "UPDATE",
        "request",
        "uid",
        "oldObject",
        "metadata",
        "options",
        "propagationPolicy",
        "Foreground",
        "dryRun",
        "AdmissionReview",
    ],
    judge: |input| {
        let review = match Review::parse(input) {
            Ok(review) => review,
            Err(why) => return rejected(&why.to_string()),
        };
        let now = Timestamp::UNIX_EPOCH;
        let free = judge(&review, &[], "crossbridge", now);
        let allowed = free.verdict == Answered::Allowed;
        ensure(!allowed || review.operation == "DELETE", || {
            format!("{} is allowed", review.operation)
        })?;
        let usage = UsageNote {
            namespace: "default".to_owned(),
            name: "usage".to_owned(),
            kind: "v1beta1.Usage".to_owned(),
            by: None,
            reason: None,
            used_uid: None,
        };
        let used = judge(&review, &[usage], "crossbridge", now);
        ensure(used.verdict != Answered::Allowed, || {
            "what is used may be deleted".to_owned()
        })?;
        for answer in [&free, &used] {
            let body = answer.verdict.to_review(&review.uid);
            ensure(body["response"]["uid"] == review.uid, || {
                format!("the answer is {body}")
            })?;
            ensure(
                body["response"]["allowed"] == (answer.verdict == Answered::Allowed),
                || format!("the answer is {body}"),
            )?;
            in_proportion("the answer", body.to_string().len(), input, 16)?;
        }
        ensure(!review.dry_run || used.note_attempt.is_none(), || {
            "a dry run is noted".to_owned()
        })?;
        let value = json(input).unwrap_or_default();
        let name = UsedName::of(&value["request"]["oldObject"]);
        Ok(format!(
            "{allowed} {} {} {}",
            review.dry_run,
            used.note_attempt.is_some(),
            name.is_some()
        ))
    },
};
