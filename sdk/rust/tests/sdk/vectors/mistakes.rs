//! Mistakes in declarations: nothing is served, and the error mentions where.

use crossbridge_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{file, name_of, report};
use crate::support::within;

/// What the compiler finds, or nothing can.
const IMPOSSIBLE: [(&str, &str); 3] = [
    ("missing method", "the compiler finds it"),
    (
        "missing poll",
        "a kind does not declare that it is asynchronous: poll has a default",
    ),
    ("missing list", "list has a default"),
];

const GROUP: &str = "vectors.example.org";

#[derive(Serialize, Deserialize, JsonSchema)]
struct Size {
    size: Option<i64>,
    password: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Mixed {
    port: Port,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Port {
    Number(u16),
    Name(String),
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Nothing {}

fn plugin() -> Plugin {
    Plugin::new(GROUP, "1.0.0")
}

fn names() -> ExternalName {
    ExternalName::by_user("a-widget")
        .pattern("[a-z][a-z0-9-]*")
        .max_length(20)
}

fn example(name: &str) -> Example {
    Example::new(name, &json!({})).external_name("a-widget")
}

/// A Widget, or the like, without recovery and examples.
fn bare(group: &str, kind: &str, names: ExternalName) -> Kind {
    Kind::new(group, "v1", kind, names)
}

fn widget() -> Kind {
    bare(GROUP, "Widget", names()).recover_by_name()
}

fn good() -> Kind {
    widget().example(example("plain"))
}

/// A kind of these types that is declared so; nobody calls it.
macro_rules! declared {
    ($declared:expr) => {
        declared!(plugin(), $declared, Size, Nothing)
    };
    ($plugin:expr, $declared:expr) => {
        declared!($plugin, $declared, Size, Nothing)
    };
    ($plugin:expr, $declared:expr, $parameters:ty, $status:ty) => {{
        struct Declared;

        #[async_trait]
        impl Resource for Declared {
            type Parameters = $parameters;
            type Status = $status;

            fn kind() -> Kind {
                $declared
            }

            async fn observe(&self, _: &Call, _: &Known<$parameters>) -> Result<Observed<Self>, Failure> {
                Ok(Observed::absent())
            }

            async fn create(&self, _: &Call, _: &Create<$parameters>) -> Result<Outcome<Self>, Failure> {
                Ok(Outcome::completed())
            }

            async fn update(&self, _: &Call, _: &Update<$parameters>) -> Result<Outcome<Self>, Failure> {
                Ok(Outcome::completed())
            }

            async fn delete(&self, _: &Call, _: &Delete<$parameters>) -> Result<Outcome<Self>, Failure> {
                Ok(Outcome::completed())
            }
        }
        $plugin.resource(Declared)
    }};
}

fn mistaken(name: &str) -> Option<Plugin> {
    Some(match name {
        "none" => declared!(good()),
        "duplicate kind" => declared!(declared!(good()), good()),
        "no example" => declared!(widget()),
        "example of another type" => declared!(
            widget().example(Example::new("odd", &json!({"size": "big"})).external_name("a-widget"))
        ),
        "example with a bad name" => declared!(widget().example(example("plain").external_name("A1"))),
        "example with a long name" => {
            declared!(widget().example(example("plain").external_name("abcdefghijklmnopqrstu")))
        }
        "example that requires what is not there" => {
            declared!(widget().example(example("plain").requires("Gadget/plain")))
        }
        "two examples of one name" => declared!(good().example(example("plain"))),
        "example of the name rules" => declared!({
            let names = ExternalName::by_user("A1").pattern("[a-z][a-z0-9-]*");
            bare(GROUP, "Widget", names)
                .recover_by_name()
                .example(example("plain"))
        }),
        "bad plural" => declared!(good().plural("Widgets")),
        "bad group" => declared!(
            bare("Vectors!", "Widget", names())
                .recover_by_name()
                .example(example("plain"))
        ),
        "bad kind" => declared!(
            bare(GROUP, "a widget", names())
                .recover_by_name()
                .plural("widgets")
                .example(example("plain"))
        ),
        "rule of no field" => declared!(good().sensitive("/secret")),
        "no recovery" => declared!(bare(GROUP, "Widget", names()).example(example("plain"))),
        "recovery by name of a name that the upstream gives" => declared!(
            bare(GROUP, "Widget", ExternalName::by_upstream("a-widget"))
                .recover_by_name()
                .example(example("plain"))
        ),
        "bad pattern" => declared!({
            let names = ExternalName::by_user("a-widget").pattern("[");
            bare(GROUP, "Widget", names)
                .recover_by_name()
                .example(example("plain"))
        }),
        "long call timeout" => declared!(good().call_timeout(std::time::Duration::from_secs(61))),
        "connection key twice" => {
            declared!(
                good()
                    .connection_key("password", "")
                    .connection_key("password", "")
            )
        }
        "bad connection key" => declared!(good().connection_key("pass word", "")),
        "bad printer column" => declared!(good().printer_column("SIZE", "text", ".spec")),
        "parameters that are no object" => declared!(plugin(), good(), String, Nothing),
        "status that is no object" => declared!(plugin(), good(), Size, String),
        "parameters that contain themselves" => declared!(plugin(), good(), Tree, Nothing),
        "a field of several types" => declared!(plugin(), good(), Mixed, Nothing),
        "bad plugin name" => declared!(Plugin::new("Vectors", "1.0.0"), good()),
        "bad plugin version" => declared!(Plugin::new(GROUP, "one"), good()),
        "bad limit of calls" => declared!(good()).max_concurrent_calls(0),
        "settings that are no object" => declared!(good()).settings::<String>(),
        "no kinds" => plugin(),
        _ => return None,
    })
}

#[tokio::test]
async fn a_mistake_of_the_author_keeps_the_plugin_from_serving() {
    let vectors = file("mistakes.json");
    let vectors = vectors["mistakes"].as_array().expect("mistakes");
    let folder = tempfile::tempdir().expect("a folder");
    let endpoint = format!("unix://{}/plugin.sock", folder.path().display());
    let mut problems = Vec::new();
    for (name, _) in IMPOSSIBLE {
        assert!(
            vectors.iter().any(|vector| name_of(vector) == name),
            "there is no mistake {name:?}"
        );
    }
    for vector in vectors {
        let name = name_of(vector);
        let Some(plugin) = mistaken(name) else {
            if !IMPOSSIBLE.iter().any(|(impossible, _)| *impossible == name) {
                problems.push(format!("nothing is written for {name:?}"));
            }
            continue;
        };
        let mentions = vector["mentions"].as_array().expect("mentions");
        match within(name, Box::pin(plugin.serve_at(&endpoint, std::future::ready(())))).await {
            Ok(()) if mentions.is_empty() => {}
            Ok(()) => problems.push(format!("{name}: it was served")),
            Err(error) => {
                let error = error.to_string().to_lowercase();
                let lacks =
                    |mention: &&Value| !error.contains(&mention.as_str().expect("a text").to_lowercase());
                if mentions.is_empty() {
                    problems.push(format!("{name}: {error}"));
                } else if let Some(mention) = mentions.iter().find(lacks) {
                    problems.push(format!("{name}: expected {mention} in {error}"));
                }
            }
        }
    }
    report("mistakes.json", &problems);
}
