//! Credentials: the keys of a config, those of a credentials file, or the identity of the environment; and a role on top.

use aws_config::SdkConfig;
use aws_config::default_provider::credentials::DefaultCredentialsChain;
use aws_config::sts::AssumeRoleProvider;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use crossbridge_sdk::{Config, Failure};

use crate::credentials_file;
use crate::settings::{
    ACCESS_KEY_ID, AssumeRole, CREDENTIALS_FILE, SECRET_ACCESS_KEY, SESSION_TOKEN, Settings,
};

/// The credentials that requests of a config are signed with.
pub(crate) async fn provider(
    config: &Config,
    settings: &Settings,
    sdk: &SdkConfig,
) -> Result<SharedCredentialsProvider, Failure> {
    let base = base(config, sdk).await?;
    match &settings.assume_role {
        Some(role) => Ok(assumed(role, base, sdk).await),
        None => Ok(base),
    }
}

async fn base(config: &Config, sdk: &SdkConfig) -> Result<SharedCredentialsProvider, Failure> {
    if config.is_ambient() {
        let mut chain = DefaultCredentialsChain::builder();
        if let Some(region) = sdk.region() {
            chain = chain.region(region.clone());
        }
        return Ok(SharedCredentialsProvider::new(chain.build().await));
    }
    if config.credential(CREDENTIALS_FILE).is_some() && config.credential(ACCESS_KEY_ID).is_none() {
        let keys = credentials_file::keys(config.required_credential(CREDENTIALS_FILE)?)?;
        return Ok(SharedCredentialsProvider::new(keys));
    }
    let token = config
        .credential(SESSION_TOKEN)
        .map(|_| config.required_credential(SESSION_TOKEN))
        .transpose()?;
    Ok(SharedCredentialsProvider::new(Credentials::new(
        config.required_credential(ACCESS_KEY_ID)?.trim(),
        config.required_credential(SECRET_ACCESS_KEY)?.trim(),
        token.map(|token| token.trim().to_owned()),
        None,
        "ProviderConfig",
    )))
}

async fn assumed(
    role: &AssumeRole,
    base: SharedCredentialsProvider,
    sdk: &SdkConfig,
) -> SharedCredentialsProvider {
    let mut provider = AssumeRoleProvider::builder(&role.role_arn)
        .configure(sdk)
        .session_name(role.session_name.as_deref().unwrap_or("crossbridge"));
    if let Some(id) = &role.external_id {
        provider = provider.external_id(id);
    }
    SharedCredentialsProvider::new(provider.build_from_provider(base).await)
}
