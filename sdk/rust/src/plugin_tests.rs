//! Mistakes in declarations are found before anything is served, and named.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Plugin;
use crate::{
    Call, Create, Delete, Example, ExternalName, Failure, Kind, Known, Observed, Outcome, Resource, Update,
    async_trait,
};

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
struct Parameters {
    size: i64,
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
struct Status {}

/// Declares a good kind after `change`.
macro_rules! declared {
    ($change:expr) => {{
        struct Thing;

        #[async_trait]
        impl Resource for Thing {
            type Parameters = Parameters;
            type Status = Status;

            fn kind() -> Kind {
                let change: fn(Kind) -> Kind = $change;
                let names = ExternalName::by_user("a").pattern("[a-z]+").max_length(5);
                change(Kind::new("things.example.org", "v1", "Thing", names).recover_by_name())
            }

            async fn observe(&self, _: &Call, _: &Known<Parameters>) -> Result<Observed<Self>, Failure> {
                Err(Failure::internal("never asked"))
            }

            async fn create(&self, _: &Call, _: &Create<Parameters>) -> Result<Outcome<Self>, Failure> {
                Err(Failure::internal("never asked"))
            }

            async fn update(&self, _: &Call, _: &Update<Parameters>) -> Result<Outcome<Self>, Failure> {
                Err(Failure::internal("never asked"))
            }

            async fn delete(&self, _: &Call, _: &Delete<Parameters>) -> Result<Outcome<Self>, Failure> {
                Err(Failure::internal("never asked"))
            }
        }
        plugin().resource(Thing).declared().map(drop)
    }};
}

fn plugin() -> Plugin {
    Plugin::new("things.example.org", "1.0.0")
}

fn example() -> Example {
    Example::new("plain", &json!({"size": 1})).external_name("a")
}

#[test]
fn a_mistake_names_the_kind_and_the_place() {
    assert_eq!(declared!(|kind| kind.example(example())), Ok(()));

    let cases = [
        (declared!(|kind| kind), "examples is required"),
        (
            declared!(|kind| kind.example(example()).plural("Things")),
            "plural is malformed",
        ),
        (
            declared!(|kind| kind.example(example()).sensitive("/secret")),
            "field_rules[0].path",
        ),
        (
            declared!(|kind| kind.example(Example::new("odd", &json!({"size": "1"})).external_name("a"))),
            "example \"odd\" at \"/size\"",
        ),
        (
            declared!(|kind| kind.example(example().external_name("abcdef"))),
            "at most 5",
        ),
        (
            declared!(|kind| kind.example(example().external_name("A"))),
            "does not match",
        ),
        (
            declared!(|kind| kind.example(example().requires("Other/plain"))),
            "requires \"Other/plain\"",
        ),
    ];
    for (declared, expected) in cases {
        let problem = declared.expect_err(expected);
        assert!(problem.starts_with("kind Thing: "), "{problem}");
        assert!(problem.contains(expected), "{problem}");
        let source = concat!("Thing at ", file!(), ":");
        assert!(problem.contains(source), "{problem}");
    }
}

#[test]
fn the_plugin_s_own_mistakes_are_named() {
    let cases = [
        (Plugin::new("Things", "1.0.0"), "the plugin's name is malformed"),
        (
            Plugin::new("things.example.org", "one"),
            "the plugin's version is malformed",
        ),
        (plugin().settings::<String>(), "the plugin's config_schema_json"),
        (plugin().max_concurrent_calls(0), "takes no calls"),
    ];
    for (plugin, expected) in cases {
        let problem = plugin.declared().map(drop).expect_err(expected);
        assert!(problem.contains(expected), "{problem}");
    }
}
