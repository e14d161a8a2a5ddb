//! Every plugin passes the kit, at all levels, with control over its processes, its next build and its upstream. What does not apply to it is
//! listed here to the last.

use bridge_languages::{KitRun, Language};

/// What is not judged of a kind, and why not.
type Reasons<'a> = &'a [&'a [&'a str]];

const DOES_ALL: &[&str] = &["calls/unsupported-unimplemented"];
const NO_LISTS: &[&str] = &[
    "list/includes-created",
    "list/invalid-page-token-rejected",
    "list/pages",
    "list/parameters-on-request",
];
const SYNCHRONOUS: &[&str] = &[
    "durable/handle-after-kill",
    "durable/handle-on-next-build",
    "durable/handle-on-replica",
    "marker/former-polled",
    "operation/terminal-response-stable",
    "operation/foreign-handle-rejected",
    "operation/handle-stable",
    "operation/old-handles-valid",
    "operation/foreign-marker-not-found",
    "operation/progress-monotonic",
    "delete/during-create-accepted",
    "update/during-operation-accepted",
];
const NO_TOKEN: &[&str] = &[
    "create/deleted-not-recreated",
    "create/token-reuse-rejected",
    "durable/token-after-kill",
];
const NO_MARKER: &[&str] = &[
    "create/no-effect-after-cancellation",
    "create/no-effect-after-deadline",
    "marker/former-found-without-name",
    "observe/found-without-name",
    "observe/unknown-marker-is-absent",
];
/// A duplicate could not be seen.
const DUPLICATES_INVISIBLE: &[&str] = &[
    "create/deadline-50ms-one-resource",
    "create/ten-concurrent-one-resource",
    "create/ten-times-one-resource",
    "durable/killed-in-create-one-resource",
];
/// Takes no Update while an operation runs.
const ONE_AT_A_TIME: &[&str] = &["update/during-operation-accepted"];
const MARKER_ALONE: &[&str] = &["create/ten-concurrent-one-resource"];
const NO_CREDENTIALS: &[&str] = &[
    "config/bad-credentials-code",
    "config/bad-credentials-never-absent",
];
const NAMED_BY_USER: &[&str] = &["observe/absent-reports-derived-name"];
const NAMED_UPSTREAM: &[&str] = &[
    "create/invalid-name-rejected",
    "create/existing-name-rejected",
    "observe/absent-reports-derived-name",
];
const NAME_DERIVED: &[&str] = &[
    "create/invalid-name-rejected",
    "create/name-presence-checked",
    "observe/unknown-marker-is-absent",
];
const OBSERVES_WITHOUT_NAME: &[&str] = &["observe/no-name-rejected"];
const NOTHING_IMMUTABLE: &[&str] = &["update/immutable-rejected"];
const NO_BIG_INTEGER: &[&str] = &["observe/big-integers-exact"];
/// A folder has no limit of requests.
const NO_THROTTLE: &[&str] = &["upstream/throttled-is-failure"];

async fn conforms(language: Language, not_judged: &[(&str, Reasons<'_>)]) {
    let plugin = language.example().await.unwrap_or_else(|error| panic!("{error}"));
    let next = language
        .next_build()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    assert_ne!(plugin, next);
    let judged = KitRun::new(&plugin, language == Language::Python)
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
        SYNCHRONOUS,
        NO_TOKEN,
        NAMED_BY_USER,
        OBSERVES_WITHOUT_NAME,
        NOTHING_IMMUTABLE,
        NO_THROTTLE,
    ];
    let plant = [
        DOES_ALL,
        NO_LISTS,
        NAMED_UPSTREAM,
        OBSERVES_WITHOUT_NAME,
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
        OBSERVES_WITHOUT_NAME,
        ONE_AT_A_TIME,
        NO_BIG_INTEGER,
        NO_THROTTLE,
    ];
    let page = [
        DOES_ALL,
        NO_LISTS,
        SYNCHRONOUS,
        NO_TOKEN,
        NO_CREDENTIALS,
        NAMED_BY_USER,
        OBSERVES_WITHOUT_NAME,
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
        DUPLICATES_INVISIBLE,
        NO_CREDENTIALS,
        NAMED_UPSTREAM,
        NO_BIG_INTEGER,
        NO_THROTTLE,
    ];
    let recipe = [
        DOES_ALL,
        NO_LISTS,
        SYNCHRONOUS,
        NO_TOKEN,
        MARKER_ALONE,
        NO_CREDENTIALS,
        NAMED_UPSTREAM,
        OBSERVES_WITHOUT_NAME,
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
