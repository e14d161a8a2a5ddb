//! Who answers, and what it serves.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bridge_core::kind::{PluginInfo, ResourceType};
use bridge_transport::{Channels, EndpointError, Guarded, status};
use crossbridge_proto::{
    Weight,
    v1alpha1::{
        GetPluginInfoRequest, GetResourceKindRequest, ListResourceKindsRequest,
        plugin_service_client::PluginServiceClient,
    },
};
use crossbridge_types::{KindPage, limits};
use futures::{StreamExt, TryStreamExt, stream};
use prost::Message;
use tokio::time::timeout;
use tonic::{Code, Request, Status};
use tonic_health::pb::{
    HealthCheckRequest, health_check_response::ServingStatus, health_client::HealthClient,
};

use crate::{
    CONTRACT_VERSION,
    kind::{self, InvalidInfo},
    send::{MOST_RECEIVED, identify},
    state::{RejectedKind, Served},
};

/// The contract gives a plugin so long to answer `GetPluginInfo`; the bridge waits no longer for any other call at start.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Kinds fetched at once.
const FETCHES: usize = 8;

/// As many as there may be kinds: an end for a plugin that pages for ever.
const MOST_PAGES: usize = limits::KINDS;

/// Why a plugin cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The address cannot be used.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// No process listens there, or it accepts no connection.
    #[error("no plugin listens at {endpoint}: {why}")]
    Unreachable {
        /// The plugin's endpoint.
        endpoint: String,
        /// The connection error and its causes.
        why: String,
    },
    /// It listens, and its health is `NOT_SERVING`.
    #[error("the plugin at {endpoint} reports that it is not serving")]
    NotServing {
        /// The plugin's endpoint.
        endpoint: String,
    },
    /// It answers each question, and does not come to an end.
    #[error(
        "the plugin at {endpoint} did not say within {} s what it serves",
        limits::HANDSHAKE_WITHIN.as_secs()
    )]
    Slow {
        /// The plugin's endpoint.
        endpoint: String,
    },
    /// It accepts connections, and does not answer in time.
    #[error("what listens at {endpoint} did not answer {method} within {} s", ANSWER_WITHIN.as_secs())]
    Silent {
        /// The plugin's endpoint.
        endpoint: String,
        /// What it was asked.
        method: &'static str,
    },
    /// It answers gRPC, and knows nothing of the contract.
    #[error("what listens at {endpoint} is not a Crossbridge plugin: it does not serve {method} ({message})")]
    NotAPlugin {
        /// The plugin's endpoint.
        endpoint: String,
        /// What it was asked.
        method: &'static str,
        /// The message of the gRPC status.
        message: String,
    },
    /// The connection broke before the answer was there, or what listens speaks no HTTP/2.
    #[error("the connection to {endpoint} broke before {method} was answered: {why}")]
    Broken {
        /// The plugin's endpoint.
        endpoint: String,
        /// What it was asked.
        method: &'static str,
        /// The transport error and its causes.
        why: String,
    },
    /// It answered with a gRPC error.
    #[error("the plugin at {endpoint} failed to answer {method} ({code}): {message}")]
    Failed {
        /// The plugin's endpoint.
        endpoint: String,
        /// What it was asked.
        method: &'static str,
        /// The gRPC status code.
        code: &'static str,
        /// The message of the gRPC status.
        message: String,
    },
    /// It serves no contract version that this bridge speaks.
    #[error("the plugin at {endpoint} speaks contract version {}, this bridge speaks {CONTRACT_VERSION}", theirs.join(", "))]
    Contract {
        /// The plugin's endpoint.
        endpoint: String,
        /// The contract versions that the plugin serves.
        theirs: Vec<String>,
    },
    /// What it publishes breaks the contract.
    #[error("the plugin at {endpoint} breaks the contract in its answer to {method}: {why}")]
    Invalid {
        /// The plugin's endpoint.
        endpoint: String,
        /// What it was asked.
        method: &'static str,
        /// The field and the rule that it breaks.
        why: String,
    },
}

impl HandshakeError {
    /// Whether trying again may help: it is not there yet, or not ready.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::NotServing { .. }
            | Self::Silent { .. }
            | Self::Slow { .. }
            | Self::Broken { .. } => true,
            Self::Failed { code, .. } => matches!(
                *code,
                "UNAVAILABLE" | "RESOURCE_EXHAUSTED" | "ABORTED" | "CANCELLED"
            ),
            Self::Endpoint(_) | Self::NotAPlugin { .. } | Self::Contract { .. } | Self::Invalid { .. } => {
                false
            }
        }
    }
}

/// Asks one plugin who it is and what it serves.
#[derive(Debug, Clone)]
pub(crate) struct Handshake {
    pub(crate) channels: Channels,
    pub(crate) endpoint: String,
    pub(crate) bridge_version: String,
}

impl Handshake {
    /// Who answers, and every kind. Kinds that `known` has under the same digest are not fetched again.
    pub(crate) async fn all(&self, known: Option<&Served>) -> Result<Served, HandshakeError> {
        let all = async {
            self.health().await?;
            let info = self.info().await?;
            self.kinds(info, known).await
        };
        self.bounded(all).await
    }

    /// The contract's time for all of it.
    async fn bounded<T>(
        &self,
        asked: impl Future<Output = Result<T, HandshakeError>>,
    ) -> Result<T, HandshakeError> {
        let slow = |_| HandshakeError::Slow {
            endpoint: self.endpoint.clone(),
        };
        timeout(limits::HANDSHAKE_WITHIN, asked).await.map_err(slow)?
    }

    /// Every kind of a plugin that was known already, in the same time.
    pub(crate) async fn kinds_again(
        &self,
        info: PluginInfo,
        known: &Served,
    ) -> Result<Served, HandshakeError> {
        self.bounded(self.kinds(info, Some(known))).await
    }

    /// Standard health. A plugin that does not serve it is asked the next question all the same.
    pub(crate) async fn health(&self) -> Result<(), HandshakeError> {
        let mut client = HealthClient::new(self.channels.now());
        let request = bounded(HealthCheckRequest {
            service: String::new(),
        });
        match client.check(request).await {
            Ok(answer) if answer.get_ref().status() == ServingStatus::Serving => Ok(()),
            Ok(_) => Err(HandshakeError::NotServing {
                endpoint: self.endpoint.clone(),
            }),
            Err(status) if is_unimplemented(&status) => Ok(()),
            Err(status) => Err(self.failed("Check", &status)),
        }
    }

    pub(crate) async fn info(&self) -> Result<PluginInfo, HandshakeError> {
        const METHOD: &str = "GetPluginInfo";
        let request = bounded(GetPluginInfoRequest {
            bridge_version: self.bridge_version.clone(),
        });
        let answer = self.client().get_plugin_info(request).await;
        let answer = answer
            .map_err(|status| self.failed(METHOD, &status))?
            .into_inner();
        kind::info(answer).map_err(|error| match error {
            InvalidInfo::Contract(theirs) => HandshakeError::Contract {
                endpoint: self.endpoint.clone(),
                theirs,
            },
            InvalidInfo::Other(why) => self.invalid(METHOD, why),
        })
    }

    /// Every kind, fetched where `known` does not have it.
    async fn kinds(&self, info: PluginInfo, known: Option<&Served>) -> Result<Served, HandshakeError> {
        let received = Received::default();
        let summaries = self.summaries(&received).await?;
        let fetched: Vec<Fetched> = stream::iter(summaries)
            .map(|(resource_type, digest)| self.kind(resource_type, digest, known, &received))
            .buffer_unordered(FETCHES)
            .try_collect()
            .await?;
        let mut served = Served {
            info,
            kinds: Vec::new(),
            refused: Vec::new(),
            weights: BTreeMap::new(),
        };
        for one in fetched {
            match one {
                Ok((kind, weight)) => {
                    served.weights.insert(kind.resource_type.clone(), weight);
                    served.kinds.push(kind);
                }
                Err(refused) => served.refused.push(refused),
            }
        }
        served.kinds.sort_by(|a, b| a.resource_type.cmp(&b.resource_type));
        served
            .refused
            .sort_by(|a, b| a.resource_type.cmp(&b.resource_type));
        Ok(served)
    }

    /// Lists every page of the published kinds, as their digests by type.
    async fn summaries(&self, received: &Received) -> Result<BTreeMap<ResourceType, String>, HandshakeError> {
        const METHOD: &str = "ListResourceKinds";
        let mut summaries = BTreeMap::new();
        let mut page_token = String::new();
        for _ in 0..MOST_PAGES {
            let request = bounded(ListResourceKindsRequest {
                page_size: 0,
                page_token,
            });
            let answer = self.client().list_resource_kinds(request).await;
            let page = answer
                .map_err(|status| self.failed(METHOD, &status))?
                .into_inner();
            let weight = Weight {
                bytes: page.encoded_len(),
                values: 0,
            };
            self.count(METHOD, received, weight)?;
            let page =
                KindPage::try_from(page).map_err(|violation| self.invalid(METHOD, violation.to_string()))?;
            for (resource_type, digest) in page.kinds {
                let listed = resource_type.to_string();
                if summaries.insert(resource_type, digest).is_some() {
                    return Err(self.invalid(METHOD, format!("{listed} is listed twice")));
                }
                if summaries.len() > limits::KINDS {
                    return Err(self.invalid(METHOD, format!("more than {} kinds", limits::KINDS)));
                }
            }
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(summaries);
            }
        }
        Err(self.invalid(METHOD, format!("more than {MOST_PAGES} pages")))
    }

    async fn kind(
        &self,
        resource_type: ResourceType,
        digest: String,
        known: Option<&Served>,
        received: &Received,
    ) -> Result<Fetched, HandshakeError> {
        const METHOD: &str = "GetResourceKind";
        if let Some(known) = known.and_then(|served| find(served, &resource_type, &digest)) {
            // It is kept, and counts as if it had been said again.
            if let Ok((_, weight)) = &known {
                self.count(METHOD, received, *weight)?;
            }
            return Ok(known);
        }
        let request = bounded(GetResourceKindRequest {
            resource_type: Some((&resource_type).into()),
        });
        let answer = self.client().get_resource_kind(request).await;
        let answer = answer
            .map_err(|status| self.failed(METHOD, &status))?
            .into_inner();
        let weight = Weight::of(&answer);
        self.count(METHOD, received, weight)?;
        Ok(kind::kind(answer, &resource_type, &digest)
            .map(|kind| (Arc::new(kind), weight))
            .map_err(|why| RejectedKind {
                resource_type,
                digest,
                why,
            }))
    }

    /// Adds up what was received.
    fn count(&self, method: &'static str, received: &Received, weight: Weight) -> Result<(), HandshakeError> {
        let all = |sum: &AtomicUsize, more| sum.fetch_add(more, Ordering::Relaxed) + more;
        let why = if all(&received.bytes, weight.bytes) > limits::HANDSHAKE {
            format!("more than {} MiB in all", limits::HANDSHAKE >> 20)
        } else if all(&received.values, weight.values) > limits::HANDSHAKE_VALUES {
            format!(
                "more than {} values in the schemas and examples of all kinds",
                limits::HANDSHAKE_VALUES
            )
        } else {
            return Ok(());
        };
        Err(self.invalid(method, why))
    }

    fn client(&self) -> PluginServiceClient<Guarded> {
        PluginServiceClient::new(self.channels.now().at_most(MOST_RECEIVED))
            .max_decoding_message_size(limits::ANSWER)
    }

    fn failed(&self, method: &'static str, status: &Status) -> HandshakeError {
        let endpoint = self.endpoint.clone();
        let message = status::text(status);
        if status::never_connected(status) {
            return HandshakeError::Unreachable {
                endpoint,
                why: message,
            };
        }
        match status.code() {
            _ if status::timed_out(status) => HandshakeError::Silent { endpoint, method },
            Code::Unimplemented => HandshakeError::NotAPlugin {
                endpoint,
                method,
                message,
            },
            _ if status::is_of_the_connection(status) => HandshakeError::Broken {
                endpoint,
                method,
                why: message,
            },
            code => HandshakeError::Failed {
                endpoint,
                method,
                code: status::name(code),
                message,
            },
        }
    }

    fn invalid(&self, method: &'static str, why: String) -> HandshakeError {
        HandshakeError::Invalid {
            endpoint: self.endpoint.clone(),
            method,
            why,
        }
    }
}

/// What all answers together hold.
#[derive(Default)]
struct Received {
    bytes: AtomicUsize,
    values: AtomicUsize,
}

type Fetched = Result<(Arc<bridge_core::kind::Kind>, Weight), RejectedKind>;

fn find(served: &Served, resource_type: &ResourceType, digest: &str) -> Option<Fetched> {
    let kind = served
        .kinds
        .iter()
        .find(|kind| kind.resource_type == *resource_type && kind.digest == digest);
    let refused = || {
        served
            .refused
            .iter()
            .find(|refused| refused.resource_type == *resource_type && refused.digest == digest)
    };
    kind.map(|kind| {
        let weight = served.weights.get(resource_type).copied();
        Ok((Arc::clone(kind), weight.unwrap_or_default()))
    })
    .or_else(|| refused().map(|refused| Err(refused.clone())))
}

fn bounded<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(ANSWER_WITHIN);
    identify(request.metadata_mut());
    request
}

fn is_unimplemented(status: &Status) -> bool {
    status.code() == Code::Unimplemented
}
