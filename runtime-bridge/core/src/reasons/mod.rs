//! Every reason that the bridge gives to a condition or an event, with what it means and what to do about it.
//!
//! Users search for these strings and alert on them: each is its variant's name, those of Crossplane stay to the letter. The tables of
//! `docs/conditions.md` and `docs/provider-config.md` are written from here. A plugin has reasons of its own: [`Reason::of_plugin`].

mod claim;
mod composite;
mod condition;
mod definition;
mod event;
mod function;
mod problem;
mod stop;
mod usage;

use std::{borrow::Cow, fmt};

pub use claim::ClaimEvent;
pub use composite::CompositeEvent;
pub use condition::{ConditionReason, DeletionReason};
pub use definition::{DefinitionEvent, DefinitionReason};
pub use event::{NormalEvent, WarningEvent};
pub use function::FunctionReason;
pub use problem::ProblemReason;
pub use stop::StopReason;
pub use usage::{UsageEvent, UsageReason};

/// One reason as it is written: PascalCase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// The reason that a plugin gave to a failure or a warning.
    pub fn of_plugin(reason: &str) -> Self {
        Self(Cow::Owned(reason.to_owned()))
    }

    /// The reason of what stands in the way of all calls: [`ProblemReason`]'s, or a plugin's.
    pub fn of_problem(reason: &str) -> Self {
        Self(Cow::Owned(reason.to_owned()))
    }

    /// As it stands in conditions and events.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0.into_owned()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An enum of reasons: each is written as its variant's name; what it means comes after `=`, what to do about it after `=>`.
macro_rules! reasons {
    ($(#[$attribute:meta])* $name:ident { $($variant:ident = $meaning:literal $(=> $remedy:literal)?,)+ }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $(#[doc = $meaning] $variant,)+
        }

        impl $name {
            /// All of them, in the order of the documents.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// As it stands in conditions and events.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($variant),)+
                }
            }

            /// For the documents.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$variant => $meaning,)+
                }
            }

            /// What a person can do about it; empty: nothing is to be done, or the message says it.
            pub const fn remedy(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($remedy)?),)+
                }
            }
        }

        impl From<$name> for $crate::reasons::Reason {
            fn from(reason: $name) -> Self {
                Self(std::borrow::Cow::Borrowed(reason.as_str()))
            }
        }
    };
}
use reasons;
