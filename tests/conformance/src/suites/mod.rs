//! The suites, and with them all assertions.

pub(crate) mod kind;
pub(crate) mod plugin;

use crate::{
    assertion::Assertion, kind_context::KindContext, response_rules, run_context::RunContext, suite::Suite,
};

/// About the plugin as a whole, in this order.
pub(crate) const PLUGIN_SUITES: &[Suite<RunContext>] = &[
    plugin::info::SUITE,
    plugin::standard::SUITE,
    plugin::kinds::SUITE,
    plugin::config::SUITE,
    plugin::transport::SUITE,
    plugin::process::SUITE,
    plugin::tls::SUITE,
];

/// About each kind, in this order, after its examples.
pub(crate) const KIND_SUITES: &[Suite<KindContext>] = &[
    kind::observe::SUITE,
    kind::lifecycle::SUITE,
    kind::overlap::SUITE,
    kind::repeat::SUITE,
    kind::rejected::SUITE,
    kind::configs::SUITE,
    kind::list::SUITE,
    kind::durable::SUITE,
    kind::outage::SUITE,
];

/// Every assertion, in the order of the suites; those of every answer come last.
pub fn assertions() -> Vec<&'static Assertion> {
    let of_plugin = PLUGIN_SUITES.iter().map(|suite| suite.assertions);
    let of_kind = KIND_SUITES.iter().map(|suite| suite.assertions);
    of_plugin
        .chain([plugin::kinds::PER_KIND, kind::examples::ALL])
        .chain(of_kind)
        .chain([plugin::logs::ALL, response_rules::ALL])
        .flatten()
        .copied()
        .collect()
}
