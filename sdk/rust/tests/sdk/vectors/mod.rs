//! The vectors that all SDKs share: `tests/vectors/README.md`.

mod endpoints;
mod matching;
mod mistakes;
mod plugin;
mod schemas;
mod script;
mod session;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use futures::{StreamExt, stream};
use serde_json::Value;
use session::Session;

/// Vectors at a time: most wait for a deadline or for nothing.
const AT_ONCE: usize = 8;

/// What cannot be written in Rust.
const IMPOSSIBLE: [(&str, &str); 7] = [
    ("nothing is returned, from Create", "the compiler finds it"),
    ("nothing is returned, from Observe", "the compiler finds it"),
    ("a text is returned, from Create", "the compiler finds it"),
    ("an outcome is returned, from Observe", "the compiler finds it"),
    ("an observation is returned, from Update", "the compiler finds it"),
    (
        "an operation of a kind without a poll; the name goes along",
        "every kind has a poll, which rejects what it does not know",
    ),
    (
        "a connection detail that is no text; the name goes along",
        "the compiler finds it",
    ),
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

/// Every file of vectors, with the member that holds them.
fn all_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = [
        ("schemas.json", "schemas"),
        ("mistakes.json", "mistakes"),
        ("endpoints.json", "endpoints"),
    ];
    FILES.iter().map(|name| (*name, "vectors")).chain(others)
}

/// The rules that the vectors of a file prove.
fn rules_of(name: &str, key: &str) -> BTreeSet<String> {
    let file = file(name);
    let vectors = file[key].as_array().expect("vectors").iter();
    vectors
        .map(|vector| match vector["rule"].as_str() {
            Some(rule) => rule.to_owned(),
            None => panic!("{name}: {} proves no rule", name_of(vector)),
        })
        .collect()
}

#[test]
fn every_rule_of_a_vector_is_documented() {
    let documented = read("docs/sdk.md");
    for (name, key) in all_files() {
        for rule in rules_of(name, key) {
            assert!(documented.contains(&format!("| {rule} |")), "{name}: {rule}");
        }
    }
}

/// A rule of docs/sdk.md, with the files and assertions that prove it.
fn proofs(row: &str) -> Option<(&str, Vec<&str>)> {
    let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").collect();
    let [rule, .., proved] = cells.as_slice() else {
        return None;
    };
    let (letter, number) = rule.split_at_checked(1)?;
    let is_rule = letter.as_bytes()[0].is_ascii_uppercase() && number.parse::<u8>().is_ok();
    is_rule.then(|| (*rule, proved.split('`').skip(1).step_by(2).collect()))
}

#[test]
fn every_proof_of_a_rule_exists() {
    let files: BTreeMap<&str, BTreeSet<String>> = all_files()
        .map(|(name, key)| (name, rules_of(name, key)))
        .collect();
    // The kit's own list of its assertions stands there.
    let (contract, documented) = (read("docs/contract.md"), read("docs/sdk.md"));
    let rules: Vec<_> = documented.lines().filter_map(proofs).collect();
    assert!(rules.len() > 50, "{} rules are found", rules.len());
    for (rule, proofs) in rules {
        for proof in proofs {
            if let Some(proved) = files.get(proof) {
                assert!(proved.contains(rule), "{rule}: no vector of {proof} has it");
                continue;
            }
            let row = match proof.strip_suffix('*') {
                Some(prefix) => format!("\n| `{prefix}"),
                None => format!("\n| `{proof}` |"),
            };
            assert!(
                contract.contains(&row),
                "{rule}: the kit has no assertion {proof}"
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
