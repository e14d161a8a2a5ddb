//! A Crossbridge plugin for AWS: S3, SQS, DynamoDB, CloudFront; one module and one feature per service.

// What the services share is more than some of them use.
#![cfg_attr(
    not(feature = "all-services"),
    allow(dead_code, unused_imports, unused_mut, unused_variables)
)]

mod api;
mod check_config;
mod context;
mod credentials;
pub mod credentials_file;
mod definition;
mod json_text;
mod operation_handle;
mod partition;
pub mod services;
mod session;
mod settings;
mod tags;
mod validation;

use std::sync::Arc;

use crossbridge_sdk::Plugin;

use check_config::check_config;
use session::Sessions;
use settings::Settings;

/// The plugin with the kinds of every service that is compiled in.
pub fn plugin() -> Plugin {
    let sessions = Arc::new(Sessions::default());
    let mut plugin = Plugin::new(definition::NAME, env!("CARGO_PKG_VERSION")).settings::<Settings>();
    for key in settings::credential_keys() {
        plugin = plugin.credential(key);
    }
    let checked = Arc::clone(&sessions);
    plugin = plugin.check_config(move |call| check_config(Arc::clone(&checked), call));
    services::register(plugin, &sessions)
}
