//! What the kit asserts: one value for each rule, with an id that stays the same for ever.

use std::fmt;

/// One resource that must hold. Its id is never given to another one, also when it is dropped.
#[derive(Debug, PartialEq, Eq)]
pub struct Assertion {
    /// `area/what-holds`, in lower case.
    pub id: &'static str,
    /// When it is judged.
    pub level: Level,
    /// What holds, as a sentence.
    pub title: &'static str,
    /// Where the rule stands: `Message.field`, `Service.Method`, `Enum.VALUE`, or a file of the contract for what its header states.
    pub rule: &'static str,
    /// What an author does about it.
    pub fix: &'static str,
}

/// When an assertion is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub enum Level {
    /// Required of every plugin.
    Core,
    /// Required of a plugin that advertises the feature.
    Feature,
    /// Needs control over the plugin's processes or its upstream.
    Durable,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "Core",
            Self::Feature => "Feature",
            Self::Durable => "Durable",
        })
    }
}

/// Declares assertions as constants, and `ALL` of them in this order.
macro_rules! assertions {
    ($($name:ident = $id:literal, $level:ident, $rule:literal, $title:literal, $fix:literal;)*) => {
        $(
            pub(crate) const $name: &$crate::assertion::Assertion = &$crate::assertion::Assertion {
                id: $id,
                level: $crate::assertion::Level::$level,
                title: $title,
                rule: $rule,
                fix: $fix,
            };
        )*
        pub(crate) const ALL: &[&$crate::assertion::Assertion] = &[$($name),*];
    };
}
pub(crate) use assertions;
