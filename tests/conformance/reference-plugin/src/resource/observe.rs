//! Observe, and what a fault creates of it.

use crossbridge_proto::v1alpha1::{
    self as wire, ExternalNameSource, FailureCode, Tristate, observe_response,
};
use crossbridge_types::{DesiredState, Observe, Target};
use serde_json::{Value, json};
use tonic::Status;

use crate::{
    call::{ABSENT, CallKind, KEY, Rejection, hides, reject},
    kinds::{Spec, document},
    plugin::ReferencePlugin,
    upstream::{Resource, Upstream, now},
};

impl ReferencePlugin {
    pub(super) fn observe_resource(&self, observe: &Observe) -> Result<wire::ObserveResponse, Status> {
        use observe_response::Result as Seen;
        let seen = match self.find(observe) {
            Ok((spec, Some(resource))) => {
                Seen::Observation(self.observation(spec, &resource, &observe.target, &observe.desired))
            }
            Ok((spec, None)) => self.absent(spec, observe),
            Err(Rejection::Failure(failure)) if self.reads_as_absent(observe, &failure) => {
                Seen::Absent(wire::Absent::default())
            }
            Err(Rejection::Failure(failure)) => Seen::Failure(*failure),
            Err(Rejection::Status(status)) => return Err(status),
        };
        Ok(wire::ObserveResponse { result: Some(seen) })
    }

    fn reads_as_absent(&self, observe: &Observe, failure: &wire::Failure) -> bool {
        let is_nameless = observe.target.external_name.is_empty();
        failure.reason == ABSENT || is_nameless && hides(&self.faults, failure, "nameless")
    }

    fn absent(&self, spec: &Spec, observe: &Observe) -> observe_response::Result {
        if self.on("observe/unknown-name-is-absent") {
            return observe_response::Result::Failure(reject(FailureCode::NotFound, "NotFound"));
        }
        let is_told =
            spec.source == ExternalNameSource::Derived && !self.on("observe/absent-reports-derived-name");
        observe_response::Result::Absent(wire::Absent {
            external_name: if is_told {
                Spec::derive_name(&observe.desired.parameters)
            } else {
                String::new()
            },
        })
    }

    fn find(&self, observe: &Observe) -> Result<(&'static Spec, Option<Resource>), Rejection> {
        let target = &observe.target;
        let (spec, upstream) = self.upstream(target, CallKind::Observe)?;
        let found = match target.external_name.as_str() {
            "" if spec.source == ExternalNameSource::Derived => {
                upstream.get(&Spec::derive_name(&observe.desired.parameters))?
            }
            "" if spec.finds_by_marker() => self.find_by_marker(&upstream, target)?,
            "" if self.on("observe/no-name-rejected") => None,
            "" => return Err(Status::invalid_argument("target.external_name is required").into()),
            name => self.find_by_name(spec, &upstream, name)?,
        };
        Ok((spec, found.filter(|resource| !self.is_overlooked(spec, resource))))
    }

    fn find_by_name(
        &self,
        spec: &Spec,
        upstream: &Upstream,
        name: &str,
    ) -> Result<Option<Resource>, Rejection> {
        let mut found = upstream.get(name)?;
        if found.is_none() && self.on("observe/unknown-name-is-absent#prefix") && spec.kind == "Note" {
            found = upstream
                .all()?
                .into_iter()
                .find(|other| other.name.starts_with(name));
        }
        Ok(found.map(|resource| Resource {
            name: name.to_owned(),
            ..resource
        }))
    }

    fn find_by_marker(&self, upstream: &Upstream, target: &Target) -> Result<Option<Resource>, Rejection> {
        if self.on("observe/found-without-name") {
            return Ok(None);
        }
        let mut found = upstream.by_marker(&target.ownership_marker)?;
        if found.is_none() && !target.former_marker.is_empty() && !self.on("marker/former-found-without-name")
        {
            found = upstream.by_marker(&target.former_marker)?;
        }
        if found.is_none() && self.on("observe/unknown-marker-is-absent#first-of-all") {
            found = upstream.all()?.into_iter().next();
        }
        if found.is_some() && self.on("observe/found-without-name#newest") {
            found = upstream
                .all()?
                .into_iter()
                .max_by_key(|resource| resource.made_at);
        }
        if found.is_none() && self.on("observe/unknown-marker-is-absent") && self.faults.once("any will do") {
            return Ok(Some(self.resource(
                target,
                &DesiredState::default(),
                "ticket-foreign",
                0,
            )));
        }
        Ok(found)
    }

    /// Whether a fault hides this resource from Observe.
    fn is_overlooked(&self, spec: &Spec, resource: &Resource) -> bool {
        match () {
            () if self.on("create/exists-after-completion") => {
                spec.kind == "Ticket" && now() < resource.made_at + 1000
            }
            () if self.on("durable/found-after-kill") => {
                resource.endpoint == self.endpoint && resource.instance != self.instance
            }
            () if self.on("durable/visible-to-replica") => resource.endpoint != self.endpoint,
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
        if self.on("observe/matches-desired-state") && spec.kind == "Ticket" && resource.version == 1 {
            parameters.remove("color");
        }
        if self.on("observe/matches-desired-state#plugin-compares") && spec.plugin_compares {
            parameters.remove("color");
        }
        if self.on("observe/read-only#echo") {
            parameters.clone_from(&desired.parameters);
        }
        if self.on("observe/matches-desired-state#sorted")
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
            () if self.on("secrets/not-in-responses") => json!({"bytes": 1, "note": KEY}),
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
        if self.on("observe/read-only") {
            observation.canonical_id = format!("observe-{}", self.faults.count("observes"));
        }
        if spec.plugin_compares {
            let is_pretended =
                self.on("update/matches-desired-state#plugin-compares") && resource.version > 1;
            if is_same || is_pretended || self.on("observe/comparison-reported") {
                observation.set_up_to_date(Tristate::True);
            } else {
                observation.set_up_to_date(Tristate::False);
                observation.diffs.push(wire::FieldDiff {
                    path: "/size".to_owned(),
                    ..Default::default()
                });
            }
        }
        let key = if self.on("responses/connection-keys-declared") {
            "undeclared"
        } else {
            "secret"
        };
        observation
            .connection_details
            .insert(key.to_owned(), resource.secret.clone().into_bytes());
        if spec.kind == "Note" {
            self.oversize(&mut observation);
        }
        if self.on("responses/well-formed") && spec.kind == "Draw" {
            observation.warnings.push(wire::Warning {
                reason: "not in form".to_owned(),
                message: "It is.".to_owned(),
            });
        }
        observation
    }

    /// More than a bridge takes, or shows.
    fn oversize(&self, observation: &mut wire::Observation) {
        if self.on("responses/size")
            && self.faults.once("oversized")
            && let Some(parameters) = &mut observation.parameters
        {
            parameters.json.push_str(&" ".repeat(4 << 20));
        }
        if let Some(variant) = self.faults.variant("responses/texts") {
            let message = match variant {
                "control" => "\u{1b}[31mred".to_owned(),
                _ => "x".repeat(4097),
            };
            observation.warnings.push(wire::Warning {
                reason: "Verbose".to_owned(),
                message,
            });
        }
    }
}
