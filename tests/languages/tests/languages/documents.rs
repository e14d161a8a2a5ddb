//! The manifests of the documents, as a user pastes them: by kubectl, as they stand there.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::ScratchDir;
use bridge_languages::{Author, Language, NewPlugin};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{LIMIT, composed::Composed, processes::Cluster};

/// The folders whose pages are read, not those below them.
const FOLDERS: [&str; 10] = [
    "",
    "docs",
    "deploy",
    "examples/aws-composition",
    "examples/go-plugin",
    "examples/python-function",
    "examples/python-plugin",
    "examples/typescript-function",
    "examples/typescript-plugin",
    "provider-aws-example",
];

/// A block of a page that is a manifest, whole.
#[derive(Debug, PartialEq, Eq)]
struct Block {
    /// Page and line.
    place: String,
    text: String,
}

impl Block {
    fn objects(&self) -> Vec<Value> {
        objects(&self.text).unwrap_or_default()
    }
}

/// What kubectl would apply; `None`: a text of another sort.
fn objects(text: &str) -> Option<Vec<Value>> {
    let documents = serde_yaml_ng::Deserializer::from_str(text).map(Value::deserialize);
    let objects: Vec<Value> = documents.collect::<Result<_, _>>().ok()?;
    let is_object = |object: &Value| object["apiVersion"].is_string() && object["kind"].is_string();
    (!objects.is_empty() && objects.iter().all(is_object)).then_some(objects)
}

/// The manifests of a page. Each of its lines that names an API's version is in one of them.
fn blocks(page: &str, text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, fence)) = lines.next() {
        let (indent, place) = (
            fence.len() - fence.trim_start().len(),
            format!("{page}:{}", number + 1),
        );
        let Some(language) = fence.trim_start().strip_prefix("```") else {
            assert!(!names_a_version(fence), "{place} is outside of every block");
            continue;
        };
        let within = lines.by_ref().take_while(|(_, line)| line.trim() != "```");
        let within = within.map(|(_, line)| line.get(indent..).unwrap_or_default());
        let text: String = within.flat_map(|line| [line, "\n"]).collect();
        if objects(&text).is_some() {
            blocks.push(Block { place, text });
            continue;
        }
        assert!(
            !language.starts_with('y') && !text.lines().any(names_a_version),
            "{place} is no whole manifest: a user who pastes it is stopped by kubectl"
        );
    }
    blocks
}

fn names_a_version(line: &str) -> bool {
    line.trim_start().starts_with("apiVersion:")
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<Block> {
    let mut all = Vec::new();
    for folder in FOLDERS {
        let files = fs::read_dir(repository().join(folder)).expect("a folder of pages");
        let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "md"));
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&file).expect("a page");
            all.extend(blocks(&format!("{folder}/{name}"), &text));
        }
    }
    all
}

impl Cluster {
    /// The configs of the AWS plugin exist already, with an endpoint that the manifests do not have: applied over them they lead to the emulated AWS.
    async fn lead_to(&self, endpoint: &str, block: &Block, scratch: &Path) {
        for mut config in block.objects() {
            if config["apiVersion"] != "aws.crossbridge.dev/v1alpha1" {
                continue;
            }
            config["spec"] = json!({"settings": {"endpoint": endpoint}, "credentials": {"source": "None"}});
            let file = scratch.join("endpoint.json");
            fs::write(&file, config.to_string()).expect("it is written");
            self.until_served(&["create", "--validate=strict"], &file).await;
        }
    }

    /// As it stands there, each object of it by itself.
    async fn go_ready_as_documented(&self, block: &Block, scratch: &Path) {
        self.go_ready_and_are_deleted(&parts(&block.text, scratch)).await;
    }
}

/// A file for each document of the text.
fn parts(text: &str, scratch: &Path) -> Vec<PathBuf> {
    let parts = text.split("\n---\n").enumerate();
    parts
        .map(|(number, part)| {
            let file = scratch.join(format!("part-{number}.yaml"));
            fs::write(&file, format!("{part}\n")).expect("it is written");
            file
        })
        .collect()
}

/// `examples/aws-config` with an account and its endpoint put in; the config before the Secret that it names.
fn of_account([endpoint, id, key]: &[String; 3], scratch: &Path) -> Vec<PathBuf> {
    let example = repository().join("examples/aws-config/provider-config.yaml");
    let mut text = fs::read_to_string(example).expect("a manifest");
    let replacements = [
        ("AKIAIOSFODNN7EXAMPLE", id.as_str()),
        ("an-example-and-no-secret", key),
        (
            "# endpoint: http://127.0.0.1:5000",
            &format!("endpoint: {endpoint}"),
        ),
    ];
    for (shown, own) in replacements {
        assert!(text.contains(shown), "{shown} is not in {text}");
        text = text.replace(shown, own);
    }
    let mut files = parts(&text, scratch);
    files.reverse();
    files
}

#[tokio::test]
async fn every_manifest_of_the_documents_becomes_ready_and_is_deleted() {
    let scratch = ScratchDir::new("crossbridge-documents-").expect("a folder");
    // The plugin of docs/plugin-author-guide.md.
    let python = Author::Other(Language::Python);
    let plugin = NewPlugin::create(python, "acme", "File", false, scratch.path()).await;
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    let is_needed = |line: &str| !line.contains("unittest") && !line.contains("conformance");
    let built = plugin.run_printed_commands(is_needed).await;
    built.unwrap_or_else(|error| panic!("{error}"));
    let served = Composed::start(&[], Some(&plugin.command())).await;
    let cluster = &served.cluster;

    // What the pages begin with.
    for manifests in ["deploy/bridge.yaml", "deploy/compositions.yaml"] {
        cluster.apply(&repository().join(manifests)).await;
    }
    let [endpoint, id, key] = &served.aws;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws", "namespace": "crossbridge-system"},
        "stringData": {"accessKeyId": id, "secretAccessKey": key},
    });
    let config = fs::read_to_string(plugin.folder().join("manifests/1-config.yaml")).expect("a manifest");
    let data = scratch.path().join("data").display().to_string();
    let config = config.replace("/tmp/acme", &data);
    for (name, text) in [("secret.yaml", secret.to_string()), ("config.yaml", config)] {
        let file = scratch.path().join(name);
        fs::write(&file, text).expect("it is written");
        cluster.apply(&file).await;
    }

    // What a new plugin comes with, and the example of a config, with the keys of an account.
    let resource = plugin.folder().join("manifests/2-notes.yaml");
    cluster.go_ready_and_are_deleted(&[resource]).await;
    let account = of_account(&served.aws, scratch.path());
    cluster.go_ready_and_are_deleted(&account).await;

    let pages = pages();
    assert!(pages.len() >= 3, "{pages:?}");
    for block in pages {
        eprintln!("{}", block.place);
        cluster.lead_to(endpoint, &block, scratch.path()).await;
        cluster.go_ready_as_documented(&block, scratch.path()).await;
    }
    assert!(served.bridge.stop(LIMIT).await.success());
}

#[test]
fn manifests_are_found_in_a_page() {
    let page = "a\n```yaml\napiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\n```\n1. b\n\n   ```json\n   {\"kind\": 5}\n   ```\n\n  ```\n  apiVersion: v1\n  kind: C\n  ```\n";
    let found = blocks("p.md", page);
    let places: Vec<&str> = found.iter().map(|block| block.place.as_str()).collect();
    assert_eq!(places, ["p.md:2", "p.md:15"]);
    assert_eq!(found[0].objects().len(), 2);
    assert_eq!(found[1].text, "apiVersion: v1\nkind: C\n");
}

#[test]
#[should_panic(expected = "p.md:1 is no whole manifest")]
fn a_fragment_is_found() {
    blocks("p.md", "```yaml\nspec: {}\n```\n");
}

#[test]
#[should_panic(expected = "p.md:1 is no whole manifest")]
fn a_manifest_within_a_command_is_found() {
    blocks(
        "p.md",
        "```\nkubectl apply -f - <<END\napiVersion: v1\nkind: A\nEND\n```\n",
    );
}
