//! Where a call works and as whom: SDK clients, kept as long as their config stays the same.

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

use crate::credentials;
use crate::partition::Partition;
use crate::settings::Settings;
use crate::upstream::Steps;

/// More configs and regions than anybody has; beyond it the cache starts afresh.
const MOST_SESSIONS: usize = 1024;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The sessions of all configs.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    known: Mutex<HashMap<Place, Arc<Session>>>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Place {
    config_id: String,
    region: String,
}

/// One config in one region.
#[derive(Debug)]
pub(crate) struct Session {
    revision: String,
    pub(crate) settings: Settings,
    pub(crate) region: String,
    sdk: SdkConfig,
    sts: aws_sdk_sts::Client,
    account: OnceLock<String>,
    #[cfg(feature = "s3")]
    s3: OnceLock<aws_sdk_s3::Client>,
    #[cfg(feature = "sqs")]
    sqs: OnceLock<aws_sdk_sqs::Client>,
    #[cfg(feature = "dynamodb")]
    dynamodb: OnceLock<aws_sdk_dynamodb::Client>,
    #[cfg(feature = "cloudfront")]
    cloudfront: OnceLock<aws_sdk_cloudfront::Client>,
    #[cfg(feature = "cloudfront")]
    tagging: OnceLock<aws_sdk_resourcegroupstagging::Client>,
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
            let message = "no region is given: set spec.forProvider.region, or settings.region of the provider config";
            Failure::invalid_spec(message).reason("NoRegion").violation("/region", "no region is given")
        })?;
        self.session(config, settings, region).await
    }

    /// The session of a config for services that have one endpoint in the world, which count as those of `region`.
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
        let place = Place {
            config_id: config.id().to_owned(),
            region: region.clone(),
        };
        let known = self
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&place)
            .cloned();
        if let Some(session) = known.filter(|session| session.revision == config.revision()) {
            return Ok(session);
        }
        // Two calls may both come here; the later one's is kept, and the other serves its call.
        let session = Arc::new(Session::new(config, settings, region).await?);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST_SESSIONS {
            known.clear();
        }
        known.insert(place, Arc::clone(&session));
        Ok(session)
    }
}

impl Session {
    async fn new(config: &Config, settings: Settings, region: String) -> Result<Self, Failure> {
        let mut sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.clone()))
            // The bridge decides what is repeated, and when.
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
            sts: aws_sdk_sts::Client::new(&sdk),
            sdk,
            account: OnceLock::new(),
            #[cfg(feature = "s3")]
            s3: OnceLock::new(),
            #[cfg(feature = "sqs")]
            sqs: OnceLock::new(),
            #[cfg(feature = "dynamodb")]
            dynamodb: OnceLock::new(),
            #[cfg(feature = "cloudfront")]
            cloudfront: OnceLock::new(),
            #[cfg(feature = "cloudfront")]
            tagging: OnceLock::new(),
        })
    }

    /// The part of AWS that the region belongs to.
    pub(crate) fn partition(&self) -> Partition {
        Partition::of(&self.region)
    }

    /// Where a regional service of this name is, without a slash at the end.
    pub(crate) fn endpoint(&self, service: &str) -> String {
        match &self.settings.endpoint {
            Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
            None => self.partition().endpoint(service, &self.region),
        }
    }

    /// The account that AWS takes us for; asked once.
    pub(crate) async fn account(&self, steps: &Steps) -> Result<String, Failure> {
        if let Some(account) = self.account.get() {
            return Ok(account.clone());
        }
        let identity = steps
            .read("sts:GetCallerIdentity", self.sts.get_caller_identity().send())
            .await?;
        let account = identity.account.unwrap_or_default();
        Ok(self.account.get_or_init(|| account).clone())
    }

    #[cfg(feature = "s3")]
    pub(crate) fn s3(&self) -> &aws_sdk_s3::Client {
        self.s3.get_or_init(|| {
            let path_style = self.settings.s3_use_path_style.unwrap_or(false);
            let config = aws_sdk_s3::config::Builder::from(&self.sdk).force_path_style(path_style);
            aws_sdk_s3::Client::from_conf(config.build())
        })
    }

    #[cfg(feature = "sqs")]
    pub(crate) fn sqs(&self) -> &aws_sdk_sqs::Client {
        self.sqs.get_or_init(|| aws_sdk_sqs::Client::new(&self.sdk))
    }

    #[cfg(feature = "dynamodb")]
    pub(crate) fn dynamodb(&self) -> &aws_sdk_dynamodb::Client {
        self.dynamodb
            .get_or_init(|| aws_sdk_dynamodb::Client::new(&self.sdk))
    }

    #[cfg(feature = "cloudfront")]
    pub(crate) fn cloudfront(&self) -> &aws_sdk_cloudfront::Client {
        self.cloudfront
            .get_or_init(|| aws_sdk_cloudfront::Client::new(&self.sdk))
    }

    #[cfg(feature = "cloudfront")]
    pub(crate) fn tagging(&self) -> &aws_sdk_resourcegroupstagging::Client {
        self.tagging
            .get_or_init(|| aws_sdk_resourcegroupstagging::Client::new(&self.sdk))
    }
}

/// The region of a wish that need not be whole: without it, absence in one region would be read as absence in another.
pub(crate) fn region_of(wish: &Map<String, Value>) -> Option<&str> {
    wish.get("region").and_then(Value::as_str)
}
