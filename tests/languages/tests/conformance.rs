//! Every plugin passes the kit, at all levels, with a hand on its processes, its next build and its upstream. What says nothing about it is
//! listed here to the last.

use bridge_languages::{Language, Trial};

/// What is not judged of a kind, and why not.
type Reasons<'a> = &'a [&'a [&'a str]];

const DOES_ALL: &[&str] = &["calls/impossible-unimplemented"];
const NO_LISTS: &[&str] = &[
    "list/finds-what-was-made",
    "list/garbage-page-token-refused",
    "list/pages",
    "list/parameters-on-demand",
];
const DONE_AT_ONCE: &[&str] = &[
    "durable/handle-after-kill",
    "durable/handle-on-next-build",
    "durable/handle-on-replica",
    "marker/former-polled",
    "operation/ended-answer-stable",
    "operation/foreign-handle-refused",
    "operation/handle-kept",
    "operation/old-handles-valid",
    "operation/others-not-found",
    "operation/progress-never-falls",
    "delete/during-create-accepted",
    "update/during-operation-accepted",
];
const NO_TOKEN: &[&str] = &[
    "create/gone-is-not-remade",
    "create/token-of-another-wish-refused",
    "durable/token-after-kill",
];
const NO_MARKER: &[&str] = &[
    "create/nothing-after-cancelled",
    "create/nothing-after-the-deadline",
    "marker/former-found-without-name",
    "observe/found-without-name",
    "observe/unknown-marker-is-absent",
];
/// Whose second one nobody could see.
const NOT_COUNTED: &[&str] = &[
    "create/cut-at-50ms-one-resource",
    "create/ten-at-once-one-resource",
    "create/ten-times-one-resource",
    "durable/killed-in-create-one-resource",
];
/// Takes no Update while an operation runs.
const ONE_AT_A_TIME: &[&str] = &["update/during-operation-accepted"];
const MARKER_ALONE: &[&str] = &["create/ten-at-once-one-resource"];
const NO_CREDENTIALS: &[&str] = &[
    "config/bad-credentials-code",
    "config/bad-credentials-never-absent",
    "config/check-refuses-what-calls-refuse",
];
const NAMED_BY_USER: &[&str] = &["observe/absent-says-derived-name"];
const NAMED_UPSTREAM: &[&str] = &[
    "create/bad-name-refused",
    "create/taken-name-refused",
    "observe/absent-says-derived-name",
];
const NAME_DERIVED: &[&str] = &[
    "create/bad-name-refused",
    "create/name-where-it-belongs",
    "observe/unknown-marker-is-absent",
];
const LOOKS_WITHOUT_NAME: &[&str] = &["observe/no-name-refused"];
const NOTHING_IMMUTABLE: &[&str] = &["update/immutable-refused"];
const NO_BIG_INTEGER: &[&str] = &["observe/big-integers-exact"];
/// A folder has no limit of requests.
const NO_THROTTLE: &[&str] = &["upstream/throttled-is-a-failure"];

async fn conforms(language: Language, not_judged: &[(&str, Reasons<'_>)]) {
    let plugin = language.example().await.unwrap_or_else(|error| panic!("{error}"));
    let next = language
        .next_build()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    assert_ne!(plugin, next);
    let judged = Trial::new(&plugin, language == Language::Python)
        .args(["--next-plugin-command", &next])
        .verdict()
        .await;
    let mut expected: Vec<String> = not_judged
        .iter()
        .flat_map(|(subject, reasons)| {
            reasons
                .iter()
                .copied()
                .flatten()
                .map(move |id| format!("{subject} {id}"))
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(judged.skipped, expected);
}

#[tokio::test]
async fn the_plugin_in_python_conforms() {
    let bed = [
        DOES_ALL,
        NO_LISTS,
        DONE_AT_ONCE,
        NO_TOKEN,
        NAMED_BY_USER,
        LOOKS_WITHOUT_NAME,
        NOTHING_IMMUTABLE,
        NO_THROTTLE,
    ];
    let plant = [
        DOES_ALL,
        NO_LISTS,
        NAMED_UPSTREAM,
        LOOKS_WITHOUT_NAME,
        NO_BIG_INTEGER,
        NO_THROTTLE,
    ];
    conforms(Language::Python, &[("Bed", &bed), ("Plant", &plant)]).await;
}

#[tokio::test]
async fn the_plugin_in_go_conforms() {
    let book = [
        DOES_ALL,
        NO_LISTS,
        NO_TOKEN,
        NO_CREDENTIALS,
        NAME_DERIVED,
        LOOKS_WITHOUT_NAME,
        ONE_AT_A_TIME,
        NO_BIG_INTEGER,
        NO_THROTTLE,
    ];
    let page = [
        DOES_ALL,
        NO_LISTS,
        DONE_AT_ONCE,
        NO_TOKEN,
        NO_CREDENTIALS,
        NAMED_BY_USER,
        LOOKS_WITHOUT_NAME,
        NOTHING_IMMUTABLE,
        NO_THROTTLE,
    ];
    let plugin: Reasons<'_> = &[&["config/missing-credential-unauthenticated"]];
    conforms(
        Language::Go,
        &[("Book", &book), ("Page", &page), ("plugin", plugin)],
    )
    .await;
}

#[tokio::test]
async fn the_plugin_in_typescript_conforms() {
    let loaf = [
        DOES_ALL,
        NO_LISTS,
        NO_MARKER,
        NOT_COUNTED,
        NO_CREDENTIALS,
        NAMED_UPSTREAM,
        NO_BIG_INTEGER,
        NO_THROTTLE,
    ];
    let recipe = [
        DOES_ALL,
        NO_LISTS,
        DONE_AT_ONCE,
        NO_TOKEN,
        MARKER_ALONE,
        NO_CREDENTIALS,
        NAMED_UPSTREAM,
        LOOKS_WITHOUT_NAME,
        NOTHING_IMMUTABLE,
        NO_THROTTLE,
    ];
    let plugin: Reasons<'_> = &[&["config/missing-credential-unauthenticated"]];
    conforms(
        Language::TypeScript,
        &[("Loaf", &loaf), ("Recipe", &recipe), ("plugin", plugin)],
    )
    .await;
}
