//! What the plugin is and what it serves.

use std::{
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
};

use crossbridge_proto::v1alpha1::{self as wire, FailureCode, plugin_service_server::PluginService};
use crossbridge_types::Config;
use serde_json::json;
use tonic::{Request, Response, Status, async_trait};

use crate::{
    call::{CallKind, Rejection, invalid, open, reject},
    faults::Faults,
    kinds::{self, Spec},
};

/// Largest message that it takes.
pub const LIMIT: usize = 256 << 10;

/// The plugin and its faults. Clones share one upstream.
#[derive(Debug, Clone)]
pub struct ReferencePlugin {
    pub faults: Arc<Faults>,
    pub instance: String,
    pub endpoint: String,
    pub build: u32,
    /// Whether it advertises that it lists.
    pub lists: bool,
    /// One creation after the other, for faults that would else be races.
    pub create_lock: Arc<tokio::sync::Mutex<()>>,
    /// Those that a fault tears.
    pub connections: Arc<Mutex<Vec<UnixStream>>>,
}

impl ReferencePlugin {
    pub fn on(&self, id: &str) -> bool {
        self.faults.on(id)
    }
}

#[async_trait]
impl PluginService for ReferencePlugin {
    async fn get_plugin_info(
        &self,
        request: Request<wire::GetPluginInfoRequest>,
    ) -> Result<Response<wire::GetPluginInfoResponse>, Status> {
        let authority = request
            .metadata()
            .get("x-authority")
            .and_then(|value| value.to_str().ok());
        if self.on("transport/any-authority")
            && authority.is_some_and(|name| name.starts_with("conformance."))
        {
            return Err(Status::permission_denied("another host"));
        }
        if self.faults.contains("poisoned") && self.faults.once("rejected after the large one") {
            return Err(Status::resource_exhausted("still busy with the large one"));
        }
        let is_kit = request
            .get_ref()
            .bridge_version
            .starts_with("provider-conformance");
        if self.on("info/answers-within-5s") && is_kit {
            return Err(Status::deadline_exceeded("slow"));
        }
        let instance_id = match () {
            () if self.on("info/stable") && is_kit => uuid::Uuid::new_v4().to_string(),
            () if self.on("process/new-instance-id") => "always".to_owned(),
            () => self.instance.clone(),
        };
        let schema = if self.on("info/config-schema") {
            json!({"type": "object", "properties": {"folder": {"$ref": "#/x"}}})
        } else {
            json!({"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"]})
        };
        let limit = match () {
            () if self
                .faults
                .variant("transport/largest-message-accepted")
                .is_some() =>
            {
                LIMIT * 2
            }
            () if self.on("transport/oversized-rejected") => LIMIT / 2,
            () if self.faults.variant("transport/call-after-oversized").is_some() => LIMIT / 2,
            () => LIMIT,
        };
        Ok(Response::new(wire::GetPluginInfoResponse {
            name: if self.on("kinds/group-of-plugin") {
                "other.example.org".to_owned()
            } else {
                kinds::GROUP.to_owned()
            },
            version: if self.on("info/well-formed") {
                "one"
            } else {
                "1.0.0"
            }
            .to_owned(),
            contract_versions: vec![
                if self.on("info/contract-version") {
                    "v9"
                } else {
                    "v1alpha1"
                }
                .to_owned(),
            ],
            features: self
                .lists
                .then(|| wire::Feature::ListExternal.into())
                .into_iter()
                .collect(),
            instance_id,
            max_message_bytes: i64::try_from(limit).unwrap_or_default(),
            config_schema_json: schema.to_string(),
            credential_keys: vec![wire::CredentialKey {
                name: "key".to_owned(),
                required: true,
                ..Default::default()
            }],
            ..Default::default()
        }))
    }

    async fn list_resource_kinds(
        &self,
        request: Request<wire::ListResourceKindsRequest>,
    ) -> Result<Response<wire::ListResourceKindsResponse>, Status> {
        let request = request.into_inner();
        if self.on("transport/call-after-oversized#connection") && request.page_token.len() > LIMIT / 2 {
            self.abort_connections();
        }
        if self.on("transport/call-after-oversized") && request.page_token.len() > LIMIT / 2 {
            self.faults.first("poisoned", "");
            return Err(Status::resource_exhausted("too large"));
        }
        let position = kinds::ALL.iter().position(|spec| spec.kind == request.page_token);
        let start = match (request.page_token.as_str(), position) {
            ("", _) => 0,
            (_, Some(last)) => last + 1,
            _ if self.on("kinds/invalid-page-token-rejected") => 0,
            _ => return Err(Status::invalid_argument("page_token is of no page")),
        };
        let size = match usize::try_from(request.page_size).unwrap_or_default() {
            0 => kinds::ALL.len(),
            _ if self.on("kinds/pages") => 2,
            size => size,
        };
        let page: Vec<&Spec> = kinds::ALL.iter().skip(start).take(size).collect();
        let is_last = start + page.len() >= kinds::ALL.len();
        Ok(Response::new(wire::ListResourceKindsResponse {
            next_page_token: match page.last() {
                Some(last) if !is_last => last.kind.to_owned(),
                _ => String::new(),
            },
            kinds: page.into_iter().map(|spec| self.summary(spec)).collect(),
        }))
    }

    async fn get_resource_kind(
        &self,
        request: Request<wire::GetResourceKindRequest>,
    ) -> Result<Response<wire::GetResourceKindResponse>, Status> {
        let Some(resource_type) = request.into_inner().resource_type else {
            return Err(if self.on("kinds/missing-type-rejected") {
                Status::not_found("no type")
            } else {
                Status::invalid_argument("resource_type is required, and is not set")
            });
        };
        match kinds::find(&resource_type) {
            Some(spec) => Ok(Response::new(wire::GetResourceKindResponse {
                resource_kind: Some(spec.published(&self.faults)),
            })),
            None if self.on("kinds/unknown-type-not-found") => Err(Status::invalid_argument("unknown type")),
            None => Err(Status::not_found("it is not served")),
        }
    }

    async fn check_config(
        &self,
        request: Request<wire::CheckConfigRequest>,
    ) -> Result<Response<wire::CheckConfigResponse>, Status> {
        if self.on("config/missing-rejected") && request.get_ref().config.is_none() {
            return Ok(Response::new(wire::CheckConfigResponse::default()));
        }
        let mut request = request.into_inner();
        if let (true, Some(config)) = (
            self.on("calls/required-fields-checked#check-config"),
            &mut request.config,
        ) {
            config.config_id.push('x');
        }
        let config = Config::try_from(request).map_err(|violation| invalid(&self.faults, &violation))?;
        let has_key = config.credentials.0.contains_key("key");
        let failure = match open(&self.faults, &config, "Note", CallKind::Check) {
            Err(Rejection::Status(status)) => return Err(status),
            Err(Rejection::Failure(_))
                if !has_key && self.on("config/missing-credential-unauthenticated") =>
            {
                None
            }
            Err(Rejection::Failure(failure))
                if self.on("config/check-agrees-with-calls") && failure.reason == "BadKey" && has_key =>
            {
                None
            }
            Err(Rejection::Failure(failure))
                if self.on("config/check-agrees-with-calls#settings") && failure.reason == "NoFolder" =>
            {
                None
            }
            Err(Rejection::Failure(failure)) => Some(*failure),
            Ok(_) if self.on("config/valid-accepted") => Some(reject(FailureCode::InvalidConfig, "Picky")),
            Ok(_) => None,
        };
        Ok(Response::new(wire::CheckConfigResponse {
            failure,
            identity: String::new(),
        }))
    }
}

impl ReferencePlugin {
    fn summary(&self, spec: &Spec) -> wire::ResourceKindSummary {
        let digest = match self.faults.variant("kinds/digest-stable") {
            Some("process") => format!("{}-{}", spec.kind, self.instance),
            Some("build") => format!("{}-{}", spec.kind, self.build),
            Some(_) => uuid::Uuid::new_v4().to_string(),
            None => format!("{}-1", spec.kind),
        };
        wire::ResourceKindSummary {
            resource_type: Some(spec.resource_type()),
            digest,
        }
    }
}
