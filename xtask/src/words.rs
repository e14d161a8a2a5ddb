//! Phrases of a private vocabulary that users stumbled over: none of them comes back into what they read.

use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::literals;

/// What was found, and what stands for it now.
const PHRASES: [(&str, &str); 69] = [
    ("wish", "desired state"),
    ("wished", "desired"),
    ("wished for", "requested"),
    ("whom", "the identity, or which"),
    ("bears", "has"),
    ("look again", "next reconcile"),
    ("looked at again", "next reconcile"),
    ("is no longer told", "condition removed"),
    ("ended as asked", "stopped"),
    ("told to stop", "received SIGTERM"),
    ("all of it was true", "PASS"),
    ("last calls: not known", "last calls: unavailable"),
    ("none that the bridge remembers", "none recorded"),
    ("nothing is sent after in", "deadline in"),
    ("called as unknown identity", "identity: not reported"),
    ("missed by a test", "detected by a test"),
    ("named stops", "blocking conditions"),
    ("NameNotTold", "NameNotReported"),
    ("told as waiting", "reported as waiting"),
    ("hands off", "reconciliation is paused"),
    ("look in the cloud", "check the provider's console"),
    (
        "until it is certain that it is gone",
        "for the deletion to be confirmed",
    ),
    (
        "looking again before it is made anew",
        "re-checking before it is recreated",
    ),
    ("have not brought about", "still differs after"),
    ("to let the object go", "to remove the object"),
    (
        "leave what there may be",
        "without deleting the external resource",
    ),
    ("mend the provider config", "fix the ProviderConfig"),
    ("gives no credential", "is missing the credential"),
    ("gets its turn", "is re-queued"),
    ("is to notice", "started watch"),
    ("the first list is not complete", "waiting for the initial list"),
    ("its publication breaks the contract", "invalid kind definition"),
    ("let the lease go", "released the lease"),
    ("not leading any more", "stopped leading"),
    ("what becomes of CRDs", "how CRDs are managed"),
    ("such a look", "the poll interval"),
    ("is waited for at start", "maximum time to wait at startup"),
    ("of our certificate", "client certificate"),
    ("that is let go is taken", "a released lease is acquired"),
    ("nothing but care", "running two instances is unsafe"),
    ("least level", "minimum log level"),
    ("is written. Then", "Created. Next steps"),
    ("have 40 of them", "at most 40 characters"),
    (
        "tells whether a Crossbridge plugin",
        "tests whether a plugin conforms",
    ),
    ("is due; it was", "expected X, got Y"),
    ("are then at hand", "enables"),
    ("leads to nobody", "an unreachable upstream"),
    ("tell every story", "how often each scenario is repeated"),
    ("from the wish to delete", "from the deletion request"),
    ("whose turn has come", "ready objects"),
    ("passes that run", "reconciles in progress"),
    ("by what became of them", "by result"),
    ("waiting for a free place", "queueing time"),
    ("knows one cloud", "implements one provider"),
    ("poke a plugin", "call a plugin by hand"),
    ("## read on", "documentation"),
    ("say no so that it helps", "error reporting"),
    ("look without touching", "Observe must be read-only"),
    ("whose is it?", "ownership"),
    ("judge all of it", "running the full conformance suite"),
    ("cleared up", "resolved"),
    ("reckoned", "computed"),
    ("lay about", "was delayed"),
    ("with a hand on", "with control of"),
    ("how the making went", "the outcome of a Create"),
    ("the folder is not there", "the folder does not exist"),
    ("the file is there already", "the file exists"),
    (
        "the plugin has a bug; its log",
        "internal error in the plugin, see its log",
    ),
    ("PluginBug", "InternalError"),
];

/// What is read as it is: pages, the contract, manifests, generated CRDs. docs/usability.md quotes what users met.
const PAGES: [&str; 9] = [
    "README.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "docs",
    "deploy",
    "proto/crossbridge",
    "runtime-bridge/core/src/crd/golden",
    "tests/e2e/golden",
    "examples/aws",
];
const QUOTES: &str = "docs/usability.md";

/// Where messages, conditions, events, metrics and help come from.
const SOURCES: [&str; 9] = [
    "runtime-bridge/core/src",
    "runtime-bridge/engine/src",
    "runtime-bridge/function/src",
    "runtime-bridge/plugin/src",
    "runtime-bridge/src",
    "provider-aws-example/src",
    "sdk/rust/src",
    "tests/conformance/src",
    "xtask/src/demo",
];

fn files(at: &Path, found: &mut Vec<PathBuf>) {
    if at.is_file() {
        found.push(at.to_owned());
    }
    for entry in fs::read_dir(at).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let is_test = name == "tests" || name.ends_with("_tests");
        if !is_test && name != "node_modules" && name != "package-lock" {
            files(&path, found);
        }
    }
}

fn below(folders: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for folder in folders {
        files(&root.join(folder), &mut found);
    }
    found
}

/// In lower case and on one line, without what begins a comment.
fn flat(text: &str) -> String {
    let line = |line: &str| {
        let line = line.trim().trim_end_matches('\\');
        line.trim_start_matches(['/', '!']).trim().to_lowercase()
    };
    text.lines().map(line).collect::<Vec<_>>().join(" ")
}

/// What a source shows to users: its literals, and the help of what clap reads.
fn shown(source: &str) -> Vec<String> {
    let mut shown: Vec<String> = literals(source).iter().map(|text| flat(text)).collect();
    if source.contains("clap::") {
        let help = source.lines().filter(|line| line.trim_start().starts_with("///"));
        shown.push(flat(&help.collect::<Vec<_>>().join("\n")));
    }
    shown
}

/// The phrases in a text, as whole words.
fn phrases_in(text: &str) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    PHRASES.iter().filter(move |(phrase, _)| {
        let phrase = phrase.to_lowercase();
        text.match_indices(&phrase).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + phrase.len()..].chars().next();
            // Names of tests are none of theirs.
            let is_letter =
                |letter: Option<char>| letter.is_some_and(|one| one.is_alphanumeric() || one == '_');
            !is_letter(before) && !is_letter(after)
        })
    })
}

#[test]
fn no_phrase_of_a_private_vocabulary_is_left() {
    let mut found = Vec::new();
    let mut search = |file: &Path, text: &str| {
        let phrases = phrases_in(text);
        found.extend(
            phrases.map(|(phrase, instead)| format!("{}: {phrase:?}, say: {instead}", file.display())),
        );
    };
    for file in below(&PAGES).iter().filter(|file| !file.ends_with(QUOTES)) {
        if let Ok(text) = fs::read_to_string(file) {
            search(file, &flat(&text));
        }
    }
    for file in below(&SOURCES)
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs"))
    {
        for text in shown(&fs::read_to_string(file).unwrap()) {
            search(file, &text);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn phrases_are_found_across_lines_and_as_words() {
    let found = |text: &str| {
        phrases_in(&flat(text))
            .map(|(phrase, _)| *phrase)
            .collect::<Vec<_>>()
    };
    assert_eq!(found("// A plugin knows\n// one cloud."), ["knows one cloud"]);
    assert!(found("it forbears").is_empty());
    let source = "use clap::Args;\n/// Whom to ask.\nfn f() { g(\"it bears \\\n    a name\"); } // wish\n#[cfg(test)] mod tests { fn f() { \"wish\" } }";
    let shown = shown(source).join(" ");
    assert_eq!(found(&shown), ["whom", "bears"]);
}
