//! The stories, and with them all assertions.

pub(crate) mod kind;
pub(crate) mod plugin;

use crate::{always, assertion::Assertion, bench::Bench, lab::Lab, story::Story};

/// About the plugin as a whole, in this order.
pub(crate) const OF_PLUGIN: &[Story<Bench>] = &[
    plugin::info::STORY,
    plugin::standard::STORY,
    plugin::kinds::STORY,
    plugin::config::STORY,
    plugin::transport::STORY,
    plugin::process::STORY,
    plugin::tls::STORY,
];

/// About each kind, in this order, after its examples.
pub(crate) const OF_KIND: &[Story<Lab>] = &[
    kind::observe::STORY,
    kind::life::STORY,
    kind::overlap::STORY,
    kind::repeat::STORY,
    kind::refused::STORY,
    kind::configs::STORY,
    kind::list::STORY,
    kind::durable::STORY,
    kind::upstream::STORY,
];

/// Every assertion, in the order of the stories; those of every answer come last.
pub fn assertions() -> Vec<&'static Assertion> {
    let of_plugin = OF_PLUGIN.iter().map(|story| story.assertions);
    let of_kind = OF_KIND.iter().map(|story| story.assertions);
    of_plugin
        .chain([plugin::kinds::OF_EACH, kind::examples::ALL])
        .chain(of_kind)
        .chain([plugin::logs::ALL, always::ALL])
        .flatten()
        .copied()
        .collect()
}
