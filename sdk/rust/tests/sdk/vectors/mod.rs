//! The vectors that all SDKs share: `tests/vectors/README.md`.

mod endpoints;
mod matching;
mod mistakes;
mod plugin;
mod schemas;
mod script;
mod session;

use std::{collections::BTreeSet, fs, path::Path};

use futures::{StreamExt, stream};
use serde_json::Value;
use session::Session;

/// Vectors at a time: most wait for a deadline or for nothing.
const AT_ONCE: usize = 8;

/// What cannot be written in Rust.
const IMPOSSIBLE: [(&str, &str); 6] = [
    ("nothing is returned, from Create", "the compiler finds it"),
    ("nothing is returned, from Observe", "the compiler finds it"),
    ("a text is returned, from Create", "the compiler finds it"),
    ("an outcome is returned, from Observe", "the compiler finds it"),
    ("an observation is returned, from Update", "the compiler finds it"),
    ("observed parameters of another type", "the compiler finds it"),
];

/// A file of the repository.
fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join(path))
        .find(|file| file.exists())
        .expect("the SDK stands in its repository");
    fs::read_to_string(file).expect("it can be read")
}

/// One file of the vectors.
fn file(name: &str) -> Value {
    serde_json::from_str(&read(&format!("tests/vectors/{name}"))).expect("JSON")
}

fn name_of(vector: &Value) -> &str {
    vector["name"].as_str().expect("a vector has a name")
}

/// Fails with all that went wrong.
fn report(file: &str, problems: &[String]) {
    assert!(
        problems.is_empty(),
        "{} of {file} failed:\n{}",
        problems.len(),
        problems.join("\n")
    );
}

async fn run(name: &str) {
    let (base, vectors) = (file("base.json"), file(name));
    let vectors = vectors["vectors"].as_array().expect("vectors");
    let impossible: BTreeSet<&str> = IMPOSSIBLE.iter().map(|(name, _)| *name).collect();
    let possible = vectors
        .iter()
        .filter(|vector| !impossible.contains(name_of(vector)));
    let problems: Vec<String> = stream::iter(possible)
        .map(|vector| async {
            let mut session = Session::start(&base).await;
            for (index, step) in vector["steps"].as_array().expect("steps").iter().enumerate() {
                if let Err(problem) = session.step(step).await {
                    return Some(format!("{}, step {index}: {problem}", name_of(vector)));
                }
            }
            None
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(async |problem| problem)
        .collect()
        .await;
    report(name, &problems);
}

macro_rules! files {
    ($($test:ident: $file:literal,)*) => {
        const FILES: &[&str] = &[$($file),*];

        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                run($file).await;
            }
        )*
    };
}

files! {
    requests: "requests.json",
    deadlines: "deadlines.json",
    failures: "failures.json",
    answers: "answers.json",
    secrets: "secrets.json",
    config: "config.json",
    plugin_and_kinds: "plugin.json",
    concurrency: "concurrency.json",
}

#[test]
fn every_rule_of_a_vector_is_documented() {
    let rules = read("docs/sdk.md");
    let files = FILES.iter().map(|name| (*name, "vectors"));
    for (name, key) in files.chain([("mistakes.json", "mistakes")]) {
        let file = file(name);
        for vector in file[key].as_array().expect("vectors") {
            let rule = vector["rule"].as_str().expect("a rule");
            assert!(
                rules.contains(&format!("| {rule} |")),
                "{name}: {}: {rule}",
                name_of(vector)
            );
        }
    }
}

#[test]
fn every_impossible_vector_exists() {
    let files: Vec<Value> = FILES.iter().map(|name| file(name)).collect();
    let known: BTreeSet<&str> = files
        .iter()
        .flat_map(|file| file["vectors"].as_array().expect("vectors"))
        .map(name_of)
        .collect();
    for (name, _) in IMPOSSIBLE {
        assert!(known.contains(name), "there is no vector {name:?}");
    }
}
