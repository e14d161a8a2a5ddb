//! The attacks of `tests/hostile`, one after the other, and the table of what each did to the plugin beside it.

use std::fs;
use std::path::Path;

use bridge_control_plane::process::Spawn;
use clap::Args;
use serde_json::Value;

use crate::Failure;
use crate::build::build_all;
use crate::project::Project;
use crate::reliability::{between, read};
use crate::report::Report;
use crate::run::{run, without_cargo};
use crate::test::programs;

/// The test program.
const PROGRAM: &str = "bridge-hostile attacks";
/// The page of the table, and what marks its place.
const PAGE: &str = "SECURITY.md";
const MARK: &str = "attacks";
/// What the table compares with: no attack.
const NONE: &str = "none";

/// Which attacks.
#[derive(Debug, Args)]
pub(crate) struct AttacksArgs {
    /// Only those whose names contain this.
    name: Option<String>,
    /// Write the table of all attacks into SECURITY.md.
    #[arg(long, conflicts_with = "name")]
    document: bool,
}

pub(crate) async fn run_all(args: &AttacksArgs) -> Result<(), Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    let built = report.step("build everything", build_all(&project.root)).await?;
    let program = programs(&built.messages)
        .into_iter()
        .find(|program| program.name() == PROGRAM)
        .ok_or_else(|| Failure::new(format!("there is no test program {PROGRAM}")))?;
    let results = project.scratch("hostile");
    // What was measured before may be of attacks that are no more.
    drop(fs::remove_dir_all(&results));
    let attacks = without_cargo(Spawn::new(&program.executable))
        .args(args.name.iter())
        .arg("--test-threads=1")
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .current_dir(&program.folder);
    report.step("attack", run(attacks)).await?;
    let table = table(&rows(&results)?);
    print!("{table}");
    if args.document {
        let page = project.root.join(PAGE);
        let text = between(&read(&page)?, MARK, table.trim_end())?;
        fs::write(&page, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
    }
    Ok(())
}

/// A row for each attack, by name.
fn rows(results: &Path) -> Result<Vec<(String, String)>, Failure> {
    let unreadable =
        |error: &dyn std::fmt::Display| Failure::new(format!("cannot read {}: {error}", results.display()));
    let mut rows = Vec::new();
    for file in fs::read_dir(results).map_err(|error| unreadable(&error))? {
        let text = file
            .and_then(|file| fs::read_to_string(file.path()))
            .map_err(|error| unreadable(&error))?;
        let result: Value = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
        let text = |field: &str| result[field].as_str().unwrap_or_default().to_owned();
        rows.push((text("attack"), text("row")));
    }
    // What is compared with comes first.
    rows.sort_by_key(|(attack, _)| (attack != NONE, attack.clone()));
    Ok(rows)
}

fn table(rows: &[(String, String)]) -> String {
    let head = "| attack | memory at its highest, MiB | delay p50, ms | delay p99, ms | slowest `/livez`, ms | writes | events |";
    let rows = rows.iter().map(|(_, row)| row.as_str());
    let lines = [head, "|---|---|---|---|---|---|---|"].into_iter().chain(rows);
    lines.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use bridge_control_plane::process::ScratchDir;

    use super::*;

    #[test]
    fn what_is_compared_with_comes_first() {
        let folder = ScratchDir::new("crossbridge-attacks-").unwrap();
        for attack in ["b", "none", "a"] {
            let row = serde_json::json!({"attack": attack, "row": format!("| {attack} | 1 |")});
            fs::write(folder.path().join(attack), row.to_string()).unwrap();
        }
        let table = table(&rows(folder.path()).unwrap());
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows, ["| none | 1 |", "| a | 1 |", "| b | 1 |"]);
        assert!(rows_of_nothing().is_err());
    }

    fn rows_of_nothing() -> Result<Vec<(String, String)>, Failure> {
        rows(Path::new("no such folder"))
    }
}
