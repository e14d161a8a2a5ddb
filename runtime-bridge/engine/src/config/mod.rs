//! From a managed resource's `providerConfigRef` to what a plugin is given on every call: settings, credentials, identity.
//!
//! A config is read again only when its object, its Secret, its file or its variable has changed. Its id is the object's uid; its
//! revision a digest of settings and credentials under a key that lives as long as the process.

mod checks;
mod condition;
mod credentials;
mod error;
mod host;
mod in_use;
mod policy;
mod reference;
mod resolver;
mod revision;
mod slots;
mod sources;
mod spec;
#[cfg(test)]
mod tests;
mod users;

pub use credentials::of_value as credentials_of_value;
pub use error::ConfigError;
pub use host::{Host, HostError, LocalHost};
pub use in_use::{ConfigUsage, FINALIZER, keep_while_used};
pub use policy::ConfigPolicy;
pub use reference::{cluster_config_api, config_api, config_of as referenced_config, secret_of};
pub use resolver::{ConfigCheck, ConfigOptions, ConfigResolver};
pub use sources::{ConfigObjects, SecretSource};
pub use spec::{ConfigSpec, SecretKey};
