//! The AWS services of the plugin. [`for_each_service!`](crate::for_each_service) is the only table of them: the plugin registers their
//! kinds by it, and the emulated AWS of the tests knows their protocols by it.

#[cfg(feature = "cloudfront")]
mod cloudfront;
#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(feature = "s3")]
mod s3;
#[cfg(feature = "sqs")]
mod sqs;

use std::sync::Arc;

use crossbridge_sdk::Plugin;

use crate::session::Sessions;

/// Calls a macro with one row for each service:
/// `API_NAME { feature: FEATURE, signing_name: NAME, display_name: NAME, protocol: PROTOCOL, kinds: [TYPE, …] }`.
///
/// The feature is the name of the module, too, and of the service in the groups of its kinds. The protocol is one of `RestXml`,
/// `RestXmlUnwrapped` (errors without an envelope), `Json`, `JsonQueryCompatible` (errors with codes of the former protocol) and `Query`:
/// what the API model of the service says in its trait of the same name.
#[macro_export]
macro_rules! for_each_service {
    ($callback:ident) => {
        $callback! {
            CloudFront { feature: "cloudfront", signing_name: "cloudfront", display_name: "CloudFront", protocol: RestXml, kinds: [cloudfront::Distribution] }
            DynamoDB { feature: "dynamodb", signing_name: "dynamodb", display_name: "DynamoDB", protocol: Json, kinds: [dynamodb::Table] }
            S3 { feature: "s3", signing_name: "s3", display_name: "S3", protocol: RestXmlUnwrapped, kinds: [s3::Bucket] }
            Sqs { feature: "sqs", signing_name: "sqs", display_name: "SQS", protocol: JsonQueryCompatible, kinds: [sqs::Queue] }
        }
    };
}

macro_rules! define_registration {
    ($($service:ident {
        feature: $feature:literal,
        signing_name: $signing_name:literal,
        display_name: $display_name:literal,
        protocol: $protocol:ident,
        kinds: [$($kind:ty),+]
    })+) => {
        /// Names of all services, those that are not compiled in among them: each is a feature, a module and the first part of a group.
        pub const NAMES: &[&str] = &[$($feature),+];

        /// Adds the kinds of every service that is compiled in.
        pub(crate) fn register(mut plugin: Plugin, sessions: &Arc<Sessions>) -> Plugin {
            $(
                #[cfg(feature = $feature)]
                {
                    $(plugin = plugin.resource(<$kind>::new(sessions));)+
                }
            )+
            plugin
        }
    };
}

for_each_service!(define_registration);

#[cfg(test)]
#[path = "services_tests.rs"]
mod tests;
