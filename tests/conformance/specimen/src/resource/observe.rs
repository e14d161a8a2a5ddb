//! Looking.

use crossbridge_proto::v1alpha1::{
    self as wire, ExternalNameSource, FailureCode, Tristate, observe_response,
};
use crossbridge_types::{DesiredState, Observe, Target};
use serde_json::{Value, json};
use tonic::Status;

use crate::{
    call::{ABSENT, KEY, Refusal, Word, hides, refuse},
    cloud::{Cloud, Resource, now},
    kinds::{Spec, document},
    plugin::Specimen,
};

impl Specimen {
    pub(super) fn look(&self, observe: &Observe) -> Result<wire::ObserveResponse, Status> {
        use observe_response::Result as Seen;
        let seen = match self.find(observe) {
            Ok((spec, Some(resource))) => {
                Seen::Observation(self.observation(spec, &resource, &observe.target, &observe.desired))
            }
            Ok((spec, None)) => self.absent(spec, observe),
            Err(Refusal::Failure(failure)) if self.reads_as_absent(observe, &failure) => {
                Seen::Absent(wire::Absent::default())
            }
            Err(Refusal::Failure(failure)) => Seen::Failure(*failure),
            Err(Refusal::Status(status)) => return Err(status),
        };
        Ok(wire::ObserveResponse { result: Some(seen) })
    }

    fn reads_as_absent(&self, observe: &Observe, failure: &wire::Failure) -> bool {
        let is_nameless = observe.target.external_name.is_empty();
        failure.reason == ABSENT || is_nameless && hides(&self.faults, failure, "nameless")
    }

    fn absent(&self, spec: &Spec, observe: &Observe) -> observe_response::Result {
        if self.on("observe/unknown-name-is-absent") {
            return observe_response::Result::Failure(refuse(FailureCode::NotFound, "NotFound"));
        }
        let is_told =
            spec.source == ExternalNameSource::Derived && !self.on("observe/absent-says-derived-name");
        observe_response::Result::Absent(wire::Absent {
            external_name: if is_told {
                Spec::derive_name(&observe.desired.parameters)
            } else {
                String::new()
            },
        })
    }

    fn find(&self, observe: &Observe) -> Result<(&'static Spec, Option<Resource>), Refusal> {
        let target = &observe.target;
        let (spec, cloud) = self.cloud(target, Word::Look)?;
        let found = match target.external_name.as_str() {
            "" if spec.source == ExternalNameSource::Derived => {
                cloud.get(&Spec::derive_name(&observe.desired.parameters))?
            }
            "" if spec.finds_by_marker() => self.nameless(&cloud, target)?,
            "" if self.on("observe/no-name-refused") => None,
            "" => return Err(Status::invalid_argument("target.external_name is required").into()),
            name => self.named(spec, &cloud, name)?,
        };
        Ok((spec, found.filter(|resource| !self.overlooks(spec, resource))))
    }

    fn named(&self, spec: &Spec, cloud: &Cloud, name: &str) -> Result<Option<Resource>, Refusal> {
        let mut found = cloud.get(name)?;
        if found.is_none() && self.on("observe/unknown-name-is-absent#prefix") && spec.kind == "Note" {
            found = cloud
                .all()?
                .into_iter()
                .find(|other| other.name.starts_with(name));
        }
        Ok(found.map(|resource| Resource {
            name: name.to_owned(),
            ..resource
        }))
    }

    fn nameless(&self, cloud: &Cloud, target: &Target) -> Result<Option<Resource>, Refusal> {
        if self.on("observe/found-without-name") {
            return Ok(None);
        }
        let mut found = cloud.by_marker(&target.ownership_marker)?;
        if found.is_none() && !target.former_marker.is_empty() && !self.on("marker/former-found-without-name")
        {
            found = cloud.by_marker(&target.former_marker)?;
        }
        if found.is_none() && self.on("observe/unknown-marker-is-absent#first-of-all") {
            found = cloud.all()?.into_iter().next();
        }
        if found.is_some() && self.on("observe/found-without-name#newest") {
            found = cloud.all()?.into_iter().max_by_key(|resource| resource.made_at);
        }
        if found.is_none() && self.on("observe/unknown-marker-is-absent") && self.faults.once("any will do") {
            return Ok(Some(self.resource(
                target,
                &DesiredState::default(),
                "ticket-somebodys",
                0,
            )));
        }
        Ok(found)
    }

    /// What a faulty look does not see.
    fn overlooks(&self, spec: &Spec, resource: &Resource) -> bool {
        match () {
            () if self.on("create/exists-afterwards") => {
                spec.kind == "Ticket" && now() < resource.made_at + 1000
            }
            () if self.on("durable/found-after-kill") => {
                resource.endpoint == self.endpoint && resource.instance != self.instance
            }
            () if self.on("durable/seen-by-replica") => resource.endpoint != self.endpoint,
            () => false,
        }
    }

    pub(super) fn observation(
        &self,
        spec: &Spec,
        resource: &Resource,
        target: &Target,
        desired: &DesiredState,
    ) -> wire::Observation {
        let mut parameters = resource.parameters.clone();
        if self.on("observe/wish-comes-back") && spec.kind == "Ticket" && resource.version == 1 {
            parameters.remove("color");
        }
        if self.on("observe/wish-comes-back#plugin-compares") && spec.plugin_compares {
            parameters.remove("color");
        }
        if self.on("observe/changes-nothing#echo") {
            parameters.clone_from(&desired.parameters);
        }
        if self.on("observe/wish-comes-back#sorted")
            && resource.version == 1
            && let Some(Value::Array(tags)) = parameters.get_mut("tags")
        {
            tags.sort_by_key(ToString::to_string);
        }
        if self.on("observe/big-integers-exact")
            && let Some(size) = parameters
                .get_mut("size")
                .filter(|size| size.as_u64() > Some(1 << 53))
        {
            *size = Value::from(1_u64 << 53);
        }
        if self.on("observe/parameters-valid") {
            parameters.insert("secret".to_owned(), Value::from("(hidden)"));
        }
        if self.on("marker/not-in-parameters") {
            parameters.insert("owner".to_owned(), Value::from(target.ownership_marker.as_str()));
        }
        let status = match () {
            () if self.on("observe/status-valid") => json!({"bytes": "x"}),
            () if self.on("secrets/not-in-answers") => json!({"bytes": 1, "note": KEY}),
            () => json!({"bytes": 1}),
        };
        let is_same = desired.parameters == resource.parameters;
        let mut observation = wire::Observation {
            external_name: resource.name.clone(),
            parameters: Some(document(&Value::Object(parameters))),
            status: Some(document(&status)),
            ready: true,
            etag: if spec.has_etag {
                resource.version.to_string()
            } else {
                String::new()
            },
            found_marker: if spec.holds_marker && !(self.on("marker/kept") && spec.kind == "Note") {
                resource.marker.clone()
            } else {
                String::new()
            },
            deleting: resource.gone_at > 0,
            ..Default::default()
        };
        if self.on("observe/changes-nothing") {
            observation.canonical_id = format!("look-{}", self.faults.count("looks"));
        }
        if spec.plugin_compares {
            let is_pretended = self.on("update/wish-comes-back#plugin-compares") && resource.version > 1;
            if is_same || is_pretended || self.on("observe/comparison-said") {
                observation.set_up_to_date(Tristate::True);
            } else {
                observation.set_up_to_date(Tristate::False);
                observation.diffs.push(wire::FieldDiff {
                    path: "/size".to_owned(),
                    ..Default::default()
                });
            }
        }
        let key = if self.on("answers/connection-keys-declared") {
            "undeclared"
        } else {
            "secret"
        };
        observation
            .connection_details
            .insert(key.to_owned(), resource.secret.clone().into_bytes());
        if self.on("answers/well-formed") && spec.kind == "Draw" {
            observation.warnings.push(wire::Warning {
                reason: "not in form".to_owned(),
                message: "It is.".to_owned(),
            });
        }
        observation
    }
}
