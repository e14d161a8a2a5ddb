//! Tables of the documents that are written from the code: a test compares them, and writes them anew where `UPDATE_DOCUMENTS` is set.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bridge_core::back_off::policies;
use bridge_core::limits;
use bridge_core::reasons::{
    ClaimEvent, CompositeEvent, ConditionReason, DefinitionEvent, DefinitionReason, DeletionReason,
    FunctionReason, NormalEvent, ProblemReason, StopReason, UsageEvent, UsageReason, WarningEvent,
};

use crate::reliability::between;

const GUIDE: &str = "docs/plugin-author-guide.md";
const SCAFFOLD: &str = "runtime-bridge/src/new_plugin/scaffold";

type Table = (&'static str, &'static str, fn() -> String);

/// The page, the mark of the table in it, and what writes it.
const TABLES: [Table; 20] = [
    ("docs/conditions.md", "conditions", conditions),
    ("docs/conditions.md", "stops", stops),
    ("docs/conditions.md", "events", events),
    ("docs/conditions.md", "usages", usage_reasons),
    ("docs/conditions.md", "usage events", usage_events),
    ("docs/conditions.md", "functions", function_reasons),
    ("docs/conditions.md", "definitions", definition_reasons),
    ("docs/conditions.md", "definition events", definition_events),
    (
        "docs/conditions.md",
        "composite resource events",
        composite_events,
    ),
    ("docs/conditions.md", "claim events", claim_events),
    ("docs/contract.md", "limits", limits),
    ("docs/deletion.md", "reasons", deletion_reasons),
    ("docs/conditions.md", "deletion reasons", deletion_reasons),
    ("docs/provider-config.md", "conditions", config_conditions),
    ("docs/provider-config.md", "problems", problems),
    ("docs/retries.md", "policies", retries),
    (GUIDE, "walk manifest", walk_manifest),
    (GUIDE, "walk observe", || walk_python(&["observe"])),
    (GUIDE, "walk create", || walk_python(&["create", "write"])),
    (GUIDE, "plugins", plugins),
];

/// A new plugin in one language.
struct InLanguage {
    name: &'static str,
    /// That of its highlighting.
    code: &'static str,
    kind: &'static str,
    asynchronous_kind: &'static str,
    /// The second file, if the kind's own does not start the plugin.
    main: Option<&'static str>,
}

const PLUGINS: [InLanguage; 4] = [
    InLanguage {
        name: "Rust",
        code: "rust",
        kind: "examples/files-plugin/src/main.rs",
        asynchronous_kind: "runtime-bridge/src/new_plugin/scaffold/asynchronous/rust/src/main.rs",
        main: None,
    },
    InLanguage {
        name: "Python",
        code: "python",
        kind: "runtime-bridge/src/new_plugin/scaffold/python/plugin.py",
        asynchronous_kind: "runtime-bridge/src/new_plugin/scaffold/asynchronous/python/plugin.py",
        main: None,
    },
    InLanguage {
        name: "Go",
        code: "go",
        kind: "runtime-bridge/src/new_plugin/scaffold/go/plugin.go",
        asynchronous_kind: "runtime-bridge/src/new_plugin/scaffold/asynchronous/go/plugin.go",
        main: Some("runtime-bridge/src/new_plugin/scaffold/go/main.go"),
    },
    InLanguage {
        name: "TypeScript",
        code: "ts",
        kind: "runtime-bridge/src/new_plugin/scaffold/typescript/src/plugin.ts",
        asynchronous_kind: "runtime-bridge/src/new_plugin/scaffold/asynchronous/typescript/src/plugin.ts",
        main: Some("runtime-bridge/src/new_plugin/scaffold/typescript/src/main.ts"),
    },
];

fn conditions() -> String {
    let mut table = "| condition | status / reason | meaning |\n|---|---|---|\n".to_owned();
    let mut last = ("", "");
    let of_objects = ConditionReason::ALL
        .iter()
        .filter(|reason| !reason.is_of_config());
    for reason in of_objects {
        let (kind, status) = reason.condition();
        if last.0 == "Synced" && kind != "Synced" {
            table += "| | False, a reason from the next table | a stop that needs a person |\n";
        }
        let named = if last.0 == kind {
            String::new()
        } else {
            format!("`{kind}` ")
        };
        let _ = writeln!(
            table,
            "| {named}| {status} `{}` | {} |",
            reason.as_str(),
            reason.meaning()
        );
        last = (kind, status);
    }
    table
}

fn stops() -> String {
    let mut table = "| reason | what happened | what to do |\n|---|---|---|\n".to_owned();
    for reason in StopReason::ALL {
        let (name, meaning, remedy) = (reason.as_str(), reason.meaning(), reason.remedy());
        let _ = writeln!(table, "| `{name}` | {meaning} | {remedy} |");
    }
    table
}

fn events() -> String {
    let mut table = "| type | reason | meaning |\n|---|---|---|\n".to_owned();
    let normal = NormalEvent::ALL
        .iter()
        .map(|event| ("Normal", event.as_str(), event.meaning()));
    let warning = WarningEvent::ALL
        .iter()
        .map(|event| ("Warning", event.as_str(), event.meaning()));
    for (kind, reason, meaning) in normal.chain(warning) {
        let _ = writeln!(table, "| {kind} | `{reason}` | {meaning} |");
    }
    table
}

fn config_conditions() -> String {
    let mut table = "| condition | status / reason | meaning |\n|---|---|---|\n".to_owned();
    for reason in ConditionReason::ALL.iter().filter(|reason| reason.is_of_config()) {
        let (kind, status) = reason.condition();
        let _ = writeln!(
            table,
            "| `{kind}` | {status} `{}` | {} |",
            reason.as_str(),
            reason.meaning()
        );
    }
    table
}

fn deletion_reasons() -> String {
    let mut table = "| reason | what holds it up | what to do |\n|---|---|---|\n".to_owned();
    for reason in DeletionReason::ALL {
        let (name, meaning, remedy) = (reason.as_str(), reason.meaning(), reason.remedy());
        let _ = writeln!(table, "| `{name}` | {meaning} | {remedy} |");
    }
    table
}

fn usage_reasons() -> String {
    let mut table = "| reason of `Ready=False` | meaning | what to do |\n|---|---|---|\n".to_owned();
    for reason in UsageReason::ALL {
        let (name, meaning, remedy) = (reason.as_str(), reason.meaning(), reason.remedy());
        let _ = writeln!(table, "| `{name}` | {meaning} | {remedy} |");
    }
    table
}

fn function_reasons() -> String {
    let mut table = "| reason | condition and meaning | what to do |\n|---|---|---|\n".to_owned();
    for reason in FunctionReason::ALL {
        let (name, meaning, remedy) = (reason.as_str(), reason.meaning(), reason.remedy());
        let _ = writeln!(table, "| `{name}` | {meaning} | {remedy} |");
    }
    table
}

fn definition_reasons() -> String {
    let mut table = "| reason | meaning | what to do |\n|---|---|---|\n".to_owned();
    for reason in DefinitionReason::ALL {
        let (name, meaning, remedy) = (reason.as_str(), reason.meaning(), reason.remedy());
        let _ = writeln!(table, "| `{name}` | {meaning} | {remedy} |");
    }
    table
}

/// The reason of each event, and what it means.
fn event_table(events: impl Iterator<Item = (&'static str, &'static str)>) -> String {
    let mut table = "| reason | meaning |\n|---|---|\n".to_owned();
    for (reason, meaning) in events {
        let _ = writeln!(table, "| `{reason}` | {meaning} |");
    }
    table
}

fn usage_events() -> String {
    event_table(
        UsageEvent::ALL
            .iter()
            .map(|event| (event.as_str(), event.meaning())),
    )
}

fn definition_events() -> String {
    event_table(
        DefinitionEvent::ALL
            .iter()
            .map(|event| (event.as_str(), event.meaning())),
    )
}

fn composite_events() -> String {
    event_table(
        CompositeEvent::ALL
            .iter()
            .map(|event| (event.as_str(), event.meaning())),
    )
}

fn claim_events() -> String {
    event_table(
        ClaimEvent::ALL
            .iter()
            .map(|event| (event.as_str(), event.meaning())),
    )
}

fn problems() -> String {
    let mut table = "| reason | what is wrong | what to do |\n|---|---|---|\n".to_owned();
    for reason in ProblemReason::ALL {
        let (name, meaning, remedy) = (reason.as_str(), reason.meaning(), reason.remedy());
        let _ = writeln!(table, "| `{name}` | {meaning} | {remedy} |");
    }
    table
}

fn limits() -> String {
    let mut table = "| what | limit |\n|---|---|\n".to_owned();
    for limits::Row { what, limit } in limits::ALL {
        let _ = writeln!(table, "| {what} | {limit} |");
    }
    table
}

fn retries() -> String {
    let mut table = "| what is tried again | waits | flag |\n|---|---|---|\n".to_owned();
    for policies::Row { what, policy, flag } in policies::ALL {
        let flag = if flag.is_empty() {
            String::new()
        } else {
            format!("`{flag}` ")
        };
        let _ = writeln!(table, "| {what} | `{policy}` | {flag}|");
    }
    table
}

/// A file of the scaffold, as `new-plugin acme` writes it.
fn of_scaffold(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .join(SCAFFOLD)
        .join(path);
    let text = fs::read_to_string(path).unwrap();
    text.replace("__NAME__", "acme").replace("__KIND__", "File")
}

fn walk_manifest() -> String {
    let manifest = of_scaffold("shared/manifests/2-notes.yaml");
    format!("```yaml\n{manifest}```\n")
}

/// Functions of the plugin in Python, in a step of a list.
fn walk_python(functions: &[&str]) -> String {
    let plugin = of_scaffold("python/plugin.py");
    let functions: Vec<String> = functions
        .iter()
        .map(|name| python_function(&plugin, name))
        .collect();
    let code = format!("```python\n{}\n```", functions.join("\n\n"));
    let line = |line: &str| {
        if line.is_empty() {
            "\n".to_owned()
        } else {
            format!("   {line}\n")
        }
    };
    // The mark that follows is of the step, too.
    code.lines().map(line).collect::<String>() + "   "
}

/// Its lines, up to the first that is indented as little as its own, without that indentation.
fn python_function(source: &str, name: &str) -> String {
    let head = format!("def {name}(");
    let mut lines = source
        .lines()
        .skip_while(|line| !line.trim_start().starts_with(&head));
    let first = lines.next().unwrap_or_else(|| panic!("there is no {head}"));
    let indent = first.len() - first.trim_start().len();
    let is_within = |line: &&str| line.is_empty() || line.len() - line.trim_start().len() > indent;
    let body = lines
        .take_while(is_within)
        .map(|line| line.get(indent..).unwrap_or_default());
    let function: Vec<&str> = std::iter::once(first.trim_start()).chain(body).collect();
    function.join("\n").trim_end().to_owned()
}

/// How long the same plugin is in each language, and the plugin.
fn plugins() -> String {
    let code = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        let text = fs::read_to_string(path).unwrap();
        text.replace("__NAME__", "files").replace("__KIND__", "File")
    };
    let row = |what: &str, cell: &dyn Fn(&InLanguage) -> String| {
        let cells: Vec<String> = PLUGINS.iter().map(cell).collect();
        format!("| {what} | {} |\n", cells.join(" | "))
    };
    let lines = |path: &str| code(path).lines().count();
    let whole = |kind: &str, plugin: &InLanguage| (lines(kind) + plugin.main.map_or(0, lines)).to_string();
    let mut page = row("", &|plugin| plugin.name.to_owned());
    page += &row("---", &|_| "---".to_owned()).replace(' ', "");
    page += &row("lines of the synchronous kind", &|plugin| {
        lines(plugin.kind).to_string()
    });
    page += &row("of its whole plugin", &|plugin| whole(plugin.kind, plugin));
    page += &row("lines of the asynchronous kind", &|plugin| {
        lines(plugin.asynchronous_kind).to_string()
    });
    page += &row("of its whole plugin", &|plugin| {
        whole(plugin.asynchronous_kind, plugin)
    });
    for plugin in &PLUGINS {
        let _ = write!(page, "\n### {}\n", plugin.name);
        for path in [plugin.kind].into_iter().chain(plugin.main) {
            let _ = write!(page, "\n```{}\n{}```\n", plugin.code, code(path));
        }
    }
    page
}

#[test]
fn the_documents_hold_the_tables_of_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let update = std::env::var_os("UPDATE_DOCUMENTS").is_some();
    for (page, mark, write) in TABLES {
        let path = root.join(page);
        let held = fs::read_to_string(&path).unwrap();
        let expected = between(&held, mark, &write()).unwrap();
        if update {
            fs::write(&path, &expected).unwrap();
        }
        assert!(
            update || held == expected,
            "{page} does not hold the table \"{mark}\" as the code has it: run `UPDATE_DOCUMENTS=1 cargo test -p xtask documents`"
        );
    }
}
