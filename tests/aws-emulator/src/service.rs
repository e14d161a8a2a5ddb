//! The AWS services that the emulator knows by name: those in the plugin's table of services, and those that calls of any plugin need.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a service encodes errors, by the trait of the same name in its API model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// XML in an `ErrorResponse`.
    RestXml,
    /// XML without an envelope.
    RestXmlUnwrapped,
    /// JSON with a `__type`.
    Json,
    /// JSON, and the code of the former query protocol in a header.
    JsonQueryCompatible,
    /// Requests are forms, errors XML in an `ErrorResponse`.
    Query,
}

macro_rules! define_service {
    ($($service:ident {
        feature: $feature:literal,
        signing_name: $signing_name:literal,
        display_name: $display_name:literal,
        protocol: $protocol:ident,
        kinds: [$($kind:ty),+]
    })+) => {
        /// An AWS service, by the name of its API: those of the plugin, and those that it needs besides.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Service {
            $(
                #[doc = $display_name]
                #[serde(rename = $display_name)]
                $service,
            )+
            /// Security Token Service, signed as `sts`.
            #[serde(rename = "STS")]
            Sts,
            /// Identity and Access Management.
            #[serde(rename = "IAM")]
            Iam,
            /// Resource Groups Tagging, signed as `tagging`.
            Tagging,
            /// A service that the emulator does not know.
            Other,
        }

        impl Service {
            /// By the name in the signature of a request.
            pub(crate) fn by_signing_name(signing_name: &str) -> Self {
                match signing_name {
                    $($signing_name => Self::$service,)+
                    "sts" => Self::Sts,
                    "iam" => Self::Iam,
                    "tagging" => Self::Tagging,
                    _ => Self::Other,
                }
            }

            pub(crate) fn protocol(self) -> Protocol {
                match self {
                    $(Self::$service => Protocol::$protocol,)+
                    Self::Tagging => Protocol::Json,
                    Self::Sts | Self::Iam | Self::Other => Protocol::Query,
                }
            }

            fn display_name(self) -> &'static str {
                match self {
                    $(Self::$service => $display_name,)+
                    Self::Sts => "STS",
                    Self::Iam => "IAM",
                    Self::Tagging => "Tagging",
                    Self::Other => "Other",
                }
            }
        }
    };
}

provider_aws_example::for_each_service!(define_service);

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.display_name())
    }
}
