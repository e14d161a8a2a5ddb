//! Which guard refuses deletions of what is in use: flags, and the guard itself.

#![allow(clippy::doc_markdown)] // Some comments are help texts.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
    time::Duration,
};

use bridge_core::protection::guard::Reach;
use bridge_engine::{
    engine::Engine,
    lease::Leadership,
    protection::{FixedGuard, Guard, GuardOptions, GuardState, UsageGuard, WebhookOptions},
};
use clap::{Args, ValueEnum};

/// How long a certificate of the webhook counts.
const CERTIFICATE_LIFE: Duration = Duration::from_hours(90 * 24);

/// The flags of the guard.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_field_names)] // They are called as the flags are.
pub struct UsageGuardArgs {
    /// What refuses deletions of objects that a Usage protects.
    #[arg(
        long,
        env = "CROSSBRIDGE_USAGE_GUARD",
        value_name = "GUARD",
        default_value = "policy",
        value_enum
    )]
    pub usage_guard: UsageGuardMode,
    /// Port of the webhook; 0: a free one.
    #[arg(
        long,
        env = "CROSSBRIDGE_WEBHOOK_PORT",
        value_name = "PORT",
        default_value_t = 9443
    )]
    pub webhook_port: u16,
    /// The Service through which API servers reach the webhook of all replicas, at its port 443.
    #[arg(
        long,
        env = "CROSSBRIDGE_WEBHOOK_SERVICE",
        value_name = "NAMESPACE/NAME",
        value_parser = ServiceName::parse
    )]
    pub webhook_service: Option<ServiceName>,
    /// Host at which API servers reach this process, at --webhook-port: for one bridge that runs beside its cluster. --webhook-service beats it.
    #[arg(long, env = "CROSSBRIDGE_WEBHOOK_HOST", value_name = "HOST")]
    pub webhook_host: Option<String>,
}

/// What refuses deletions of what is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageGuardMode {
    /// A ValidatingAdmissionPolicy: in force without a running bridge, from Kubernetes 1.30 on.
    Policy,
    /// A webhook that every replica serves: as Crossplane does, and it notes attempts for replayDeletion.
    Webhook,
    /// Nothing: usages are never ready.
    None,
}

/// A Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ServiceName {
    /// `NAMESPACE/NAME`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let part = |part: &str| {
            let is_label = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            (!part.is_empty() && part.chars().all(is_label)).then(|| part.to_owned())
        };
        let parts = text.split_once('/').and_then(|(namespace, name)| {
            Some(Self {
                namespace: part(namespace)?,
                name: part(name)?,
            })
        });
        parts.ok_or_else(|| "write NAMESPACE/NAME, as in crossbridge-system/usage-webhook".to_owned())
    }
}

/// What refuses, and how.
#[derive(Debug, Clone)]
pub enum GuardChoice {
    /// A policy.
    Policy,
    /// A webhook.
    Webhook(WebhookOptions),
    /// Nothing.
    None,
}

impl UsageGuardArgs {
    /// The webhook can be reached.
    pub fn check(&self) -> Result<(), String> {
        self.choice().map(drop)
    }

    /// What the flags ask for.
    pub fn choice(&self) -> Result<GuardChoice, String> {
        Ok(match self.usage_guard {
            UsageGuardMode::Policy => GuardChoice::Policy,
            UsageGuardMode::None => GuardChoice::None,
            UsageGuardMode::Webhook => GuardChoice::Webhook(WebhookOptions {
                address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                port: self.webhook_port,
                reach: self.reach()?,
                certificate_life: CERTIFICATE_LIFE,
            }),
        })
    }

    fn reach(&self) -> Result<Reach, String> {
        match (&self.webhook_service, &self.webhook_host) {
            (Some(ServiceName { namespace, name }), _) => Ok(Reach::Service {
                namespace: namespace.clone(),
                name: name.clone(),
            }),
            (None, Some(host)) => Ok(Reach::Host {
                host: host.clone(),
                port: self.webhook_port,
            }),
            (None, None) => Err(
                "--usage-guard=webhook needs --webhook-service NAMESPACE/NAME, through which API servers reach the bridge".to_owned(),
            ),
        }
    }
}

impl GuardChoice {
    /// Keeps it in force until the answer is dropped. `namespace`: the bridge's own.
    pub fn start(&self, engine: &Engine, namespace: &str, leadership: &Leadership) -> Arc<dyn Guard> {
        let options = GuardOptions {
            namespace: namespace.to_owned(),
            leadership: leadership.clone(),
        };
        match self {
            Self::Policy => Arc::new(UsageGuard::policy(engine, options)),
            Self::Webhook(webhook) => Arc::new(UsageGuard::webhook(engine, options, webhook.clone())),
            Self::None => Arc::new(FixedGuard::new(GuardState::NotProved {
                message:
                    "nothing refuses deletions of what is in use: the bridge runs with --usage-guard=none"
                        .to_owned(),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: UsageGuardArgs,
    }

    fn choice(flags: &[&str]) -> Result<GuardChoice, String> {
        let words = ["serve"].iter().chain(flags);
        let line = Line::try_parse_from(words).map_err(|error| error.to_string())?;
        line.args.choice()
    }

    fn reach(flags: &[&str]) -> Result<Reach, String> {
        match choice(&[&["--usage-guard=webhook"], flags].concat())? {
            GuardChoice::Webhook(webhook) => Ok(webhook.reach),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_guard_is_a_policy_unless_a_flag_says_otherwise() {
        assert!(matches!(choice(&[]), Ok(GuardChoice::Policy)));
        assert!(matches!(choice(&["--usage-guard=none"]), Ok(GuardChoice::None)));
    }

    #[test]
    fn a_webhook_is_reached_through_a_service_or_at_a_host() {
        let service = Reach::Service {
            namespace: "a".to_owned(),
            name: "b".to_owned(),
        };
        let host = ["--webhook-host", "127.0.0.1"];
        assert_eq!(reach(&["--webhook-service", "a/b"]).as_ref(), Ok(&service));
        assert_eq!(
            reach(&[&["--webhook-service", "a/b"], &host[..]].concat()),
            Ok(service)
        );
        let at = Reach::Host {
            host: "127.0.0.1".to_owned(),
            port: 1,
        };
        assert_eq!(reach(&[&["--webhook-port", "1"], &host[..]].concat()), Ok(at));
        assert!(
            reach(&[])
                .unwrap_err()
                .contains("--webhook-service NAMESPACE/NAME")
        );
        for text in ["a", "/b", "a/", "a/b/c", "A/b"] {
            assert!(ServiceName::parse(text).is_err(), "{text}");
        }
    }
}
