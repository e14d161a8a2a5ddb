//! What the plugins' upstreams hold, read past the plugins.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use bridge_languages::Language;
use serde_json::Value;

/// An external resource, of today or of the past where the upstream remembers it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct External {
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Of the object that it was created for.
    pub(crate) marker: String,
    pub(crate) exists: bool,
}

const GARDEN: &str = "
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1])
tables = {name for (name,) in rows.execute('SELECT name FROM sqlite_master')}
beds = rows.execute('SELECT name, marker FROM beds').fetchall() if 'beds' in tables else []
plants = rows.execute('SELECT id, marker, removed_at FROM plants').fetchall() if 'plants' in tables else []
print(json.dumps(
    [['Bed', name, marker, True] for name, marker in beds]
    + [['Plant', f'plant-{id}', marker, removed is None] for id, marker, removed in plants]
))
";

/// All that a plugin's folder holds.
pub(crate) fn externals(language: Language, folder: &Path) -> Vec<External> {
    let mut found = match language {
        Language::Python => of_garden(folder),
        Language::Go => [("Page", "pages"), ("Book", "books")]
            .iter()
            .flat_map(|(kind, below)| of_press(kind, &folder.join(below)))
            .collect(),
        Language::TypeScript => [("Recipe", "recipes"), ("Loaf", "loaves")]
            .iter()
            .flat_map(|(kind, below)| of_bakery(kind, &folder.join(below)))
            .collect(),
    };
    found.sort();
    found
}

/// Plain files, named by the user, who bear no marker: the name is the owner's.
pub(crate) fn files(kind: &str, folder: &Path) -> Vec<External> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut found: Vec<External> = entries
        .map(|entry| {
            let name = entry.expect("it is read").file_name();
            let name = name.to_string_lossy().into_owned();
            External {
                kind: kind.to_owned(),
                marker: name.clone(),
                name,
                exists: true,
            }
        })
        .collect();
    found.sort();
    found
}

fn of_garden(folder: &Path) -> Vec<External> {
    let output = Command::new("python3")
        .args(["-c", GARDEN])
        .arg(folder.join("garden.db"))
        .output()
        .expect("python3 runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rows: Vec<(String, String, String, bool)> =
        serde_json::from_slice(&output.stdout).expect("rows of two tables");
    let external = |(kind, name, marker, exists)| External {
        kind,
        name,
        marker,
        exists,
    };
    rows.into_iter().map(external).collect()
}

/// One file for each; what is deleted is forgotten.
fn of_press(kind: &str, folder: &Path) -> Vec<External> {
    let files = json_files(folder);
    let external = |(name, record): (String, Value)| External {
        kind: kind.to_owned(),
        name,
        marker: record["marker"].as_str().unwrap_or_default().to_owned(),
        exists: true,
    };
    files.into_iter().map(external).collect()
}

/// One file for each version, `NAME.NUMBER`; the last one counts.
fn of_bakery(kind: &str, folder: &Path) -> Vec<External> {
    let mut newest: BTreeMap<String, (u32, Value)> = BTreeMap::new();
    for (file, entry) in json_files(folder) {
        let (name, number) = file.rsplit_once('.').expect("a name and a number");
        let number: u32 = number.parse().expect("a number");
        let known = newest.entry(name.to_owned()).or_default();
        if number >= known.0 {
            *known = (number, entry);
        }
    }
    let external = |(name, (_, entry)): (String, (u32, Value))| External {
        kind: kind.to_owned(),
        name,
        marker: entry["marker"].as_str().unwrap_or_default().to_owned(),
        exists: entry["deleted"].is_null(),
    };
    newest.into_iter().map(external).collect()
}

/// Those that a plugin reads, without `.json`: a process that is killed leaves drafts behind, which count for nothing.
fn json_files(folder: &Path) -> Vec<(String, Value)> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    let mut files = Vec::new();
    for entry in entries.unwrap_or_default() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".json").filter(|name| !name.starts_with('.')) else {
            continue;
        };
        let text = fs::read_to_string(entry.path()).expect("a file");
        files.push((name.to_owned(), serde_json::from_str(&text).expect("JSON")));
    }
    files
}
