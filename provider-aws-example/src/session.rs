//! Sessions: region, settings and SDK clients of a config, cached until the config changes.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sts::config::retry::RetryConfig;
use aws_sdk_sts::config::timeout::TimeoutConfig;
use aws_smithy_async::rt::sleep::default_async_sleep;
use aws_smithy_async::time::SystemTimeSource;
use crossbridge_sdk::serde_json::{Map, Value};
use crossbridge_sdk::{Config, Failure};

use crate::api::Requests;
use crate::credentials;
use crate::partition::Partition;
use crate::settings::Settings;

/// More configs and regions than are in use anywhere; a full cache is emptied.
const MAX_SESSIONS: usize = 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The cached sessions of all configs.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    cache: Mutex<HashMap<SessionKey, Arc<Session>>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SessionKey {
    config_id: String,
    region: String,
}

/// One revision of a config, in one region.
#[derive(Debug)]
pub(crate) struct Session {
    revision: String,
    pub(crate) settings: Settings,
    pub(crate) region: String,
    sdk: SdkConfig,
    account: OnceLock<String>,
    /// By the type of the client, so that a service needs no field here.
    clients: Mutex<HashMap<TypeId, Box<dyn Any + Send + Sync>>>,
}

impl Sessions {
    /// The session of a config in `region`, else in the config's own region.
    pub(crate) async fn regional(
        &self,
        config: &Config,
        region: Option<&str>,
    ) -> Result<Arc<Session>, Failure> {
        let settings: Settings = config.settings()?;
        let region = region.or(settings.region.as_deref()).map(ToOwned::to_owned).ok_or_else(|| {
            let message = "no region is given: set spec.forProvider.region, or settings.region of the ProviderConfig";
            Failure::invalid_spec(message).reason("NoRegion").violation("/region", "no region is given")
        })?;
        self.session(config, settings, region).await
    }

    /// The session of a config for services with one endpoint in the whole partition, which AWS counts as those of `region`.
    pub(crate) async fn global(&self, config: &Config, region: &str) -> Result<Arc<Session>, Failure> {
        let settings: Settings = config.settings()?;
        self.session(config, settings, region.to_owned()).await
    }

    async fn session(
        &self,
        config: &Config,
        settings: Settings,
        region: String,
    ) -> Result<Arc<Session>, Failure> {
        let key = SessionKey {
            config_id: config.id().to_owned(),
            region: region.clone(),
        };
        let cached = self
            .cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(session) = cached.filter(|session| session.revision == config.revision()) {
            return Ok(session);
        }
        // Two calls may both get here: the later session is cached, and the other one serves its call.
        let session = Arc::new(Session::new(config, settings, region).await?);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= MAX_SESSIONS {
            cache.clear();
        }
        cache.insert(key, Arc::clone(&session));
        Ok(session)
    }
}

impl Session {
    async fn new(config: &Config, settings: Settings, region: String) -> Result<Self, Failure> {
        let mut sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.clone()))
            // The bridge decides what is retried, and when.
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).build())
            .time_source(SystemTimeSource::new());
        sdk.set_sleep_impl(default_async_sleep());
        sdk.set_endpoint_url(settings.endpoint.clone());
        let anonymous = sdk.build();
        let provider = credentials::provider(config, &settings, &anonymous).await?;
        let sdk = anonymous.into_builder().credentials_provider(provider).build();
        Ok(Self {
            revision: config.revision().to_owned(),
            settings,
            region,
            sdk,
            account: OnceLock::new(),
            clients: Mutex::default(),
        })
    }

    /// The SDK client of a service; `new` builds it at its first use.
    pub(crate) fn client<C>(&self, new: impl FnOnce(&SdkConfig) -> C) -> C
    where
        C: Clone + Send + Sync + 'static,
    {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = clients
            .get(&TypeId::of::<C>())
            .and_then(|client| client.downcast_ref::<C>());
        if let Some(client) = cached {
            return client.clone();
        }
        let client = new(&self.sdk);
        clients.insert(TypeId::of::<C>(), Box::new(client.clone()));
        client
    }

    /// The partition of AWS that the region belongs to.
    pub(crate) fn partition(&self) -> Partition {
        Partition::of(&self.region)
    }

    /// Base URL of a regional service, without a slash at the end.
    pub(crate) fn endpoint(&self, service: &str) -> String {
        match &self.settings.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => self.partition().endpoint(service, &self.region),
        }
    }

    /// The account that the credentials belong to; AWS is asked once for each session.
    pub(crate) async fn account(&self, requests: &Requests) -> Result<String, Failure> {
        match self.account.get() {
            Some(account) => Ok(account.clone()),
            None => self.ask_account(requests).await,
        }
    }

    /// Likewise, and AWS is asked now: whether it still accepts the credentials.
    pub(crate) async fn ask_account(&self, requests: &Requests) -> Result<String, Failure> {
        let sts = self.client(aws_sdk_sts::Client::new);
        let identity = requests
            .read("sts:GetCallerIdentity", sts.get_caller_identity().send())
            .await?;
        let account = identity.account.unwrap_or_default();
        Ok(self.account.get_or_init(|| account).clone())
    }
}

/// The region in a desired state that may be incomplete. It is read from the JSON, as in another region the resource would seem absent.
pub(crate) fn region_of(desired: &Map<String, Value>) -> Option<&str> {
    desired.get("region").and_then(Value::as_str)
}
