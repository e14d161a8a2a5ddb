//! The rules of the machine, each with a switch at its place in the code.
//!
//! What is shipped has no switches: [`Rule::is_off`] is a constant there. With the feature `rule-switches`, which tests alone ask for, a process
//! runs without the one rule that the environment variable [`SWITCH`] names; `cargo xtask rules` expects the tests of what it closes to fail.

mod table;

pub use table::{Case, Rule, SWITCH};

impl Rule {
    /// The rule is out of force in this process.
    #[cfg(not(feature = "rule-switches"))]
    pub const fn is_off(self) -> bool {
        false
    }

    /// The rule is out of force in this process.
    #[cfg(feature = "rule-switches")]
    pub fn is_off(self) -> bool {
        *switch::OFF == Some(self)
    }
}

#[cfg(feature = "rule-switches")]
mod switch {
    use std::{env, sync::LazyLock};

    use super::{Rule, SWITCH};

    #[allow(clippy::disallowed_methods)] // Built for tests alone, of which each process tries one rule.
    pub(super) static OFF: LazyLock<Option<Rule>> =
        LazyLock::new(|| named(env::var(SWITCH).unwrap_or_default().as_str()));

    /// A name that no rule has would try nothing out, and report that nobody noticed.
    fn named(name: &str) -> Option<Rule> {
        let rule = Rule::ALL.iter().find(|rule| rule.name() == name).copied();
        assert!(rule.is_some() || name.is_empty(), "no rule is called {name:?}");
        rule
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_rule_is_chosen_by_its_name() {
            assert_eq!(named("OneCallAtATime"), Some(Rule::OneCallAtATime));
            assert_eq!(named(""), None);
        }

        #[test]
        #[should_panic(expected = "no rule is called")]
        fn an_unknown_name_is_no_choice() {
            named("OneCall");
        }
    }
}
