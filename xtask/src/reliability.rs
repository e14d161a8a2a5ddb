//! Writes the numbers of `docs/reliability.md`, from what the proofs left behind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use bridge_control_plane::process::Spawn;
use serde_json::Value;

use crate::build::{Built, build_all};
use crate::project::Project;
use crate::report::Report;
use crate::run::{run, without_cargo};
use crate::test::{MODEL_TESTS, programs};
use crate::{Failure, crash_matrix, rules, simulate};

/// What is shown of a result that has one: file, field, and what it is called.
const SHOWN: [(&str, &str, &str); 10] = [
    ("rules", "out", "rules of the machine switched off, one at a time"),
    ("rules", "missed", "of them detected by a test"),
    (SIMULATION, "seeds", "seeds of the whole bridge in virtual time"),
    (SIMULATION, "violations", "violated invariants in them"),
    (MATRIX, "cases", "cases of the crash matrix, all of it"),
    (MATRIX, "hit", "of them hit at their point"),
    (MATRIX, "kills", "real processes killed with SIGKILL"),
    (
        MATRIX,
        "asked",
        "cases in which a person was asked (kinds without a recovery)",
    ),
    (MATRIX, "lost", "external objects lost"),
    (MATRIX, "duplicates", "duplicates"),
];
/// Of which the page shows the whole or nothing.
const MATRIX: &str = "crash-matrix";
const SIMULATION: &str = "simulation";
/// What the tests of the reference model report, a line of JSON each.
const MODEL: &str = "model.jsonl";

pub(crate) async fn run_all(reuse: bool) -> Result<(), Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    let results = project.results()?;
    if !reuse {
        let built = report.step("build everything", build_all(&project.root)).await?;
        report
            .step(
                "search the states of the machine, and run random schedules",
                model(&built, &results),
            )
            .await?;
        rules::run_all(&project, &report).await?;
        simulate::first(&project, &report).await?;
        crash_matrix::run_part(&project, &report, crash_matrix::Choice::Whole).await?;
    }
    let page = project.root.join("docs/reliability.md");
    let text = read(&page)?;
    let text = between(&text, "numbers", &numbers(&results)?)?;
    let text = between(&text, "points", &points_of_the_whole(&results)?)?;
    let text = between(&text, "faults", &faults(&result(&results, SIMULATION)?))?;
    fs::write(&page, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
    report.say(&format!("wrote {}", page.display()));
    Ok(())
}

/// A violated invariant fails these tests.
async fn model(built: &Built, results: &Path) -> Result<(), Failure> {
    let counts = results.join(MODEL);
    // Each test adds its lines.
    if counts.exists() {
        fs::remove_file(&counts)
            .map_err(|error| Failure::new(format!("cannot remove {}: {error}", counts.display())))?;
    }
    let model = programs(&built.messages)
        .into_iter()
        .find(|program| program.name() == MODEL_TESTS)
        .ok_or_else(|| Failure::new(format!("{MODEL_TESTS} is not built")))?;
    let tests = without_cargo(Spawn::new(model.executable)).arg("--include-ignored");
    run(tests.current_dir(model.folder).env("SIM_COUNTS", counts)).await
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// Puts `new` between the two marks.
pub(crate) fn between(text: &str, mark: &str, new: &str) -> Result<String, Failure> {
    let (begin, end) = (format!("<!-- {mark}:"), format!("<!-- end of {mark} -->"));
    let parts = text.split_once(&begin).and_then(|(before, rest)| {
        let (line, rest) = rest.split_once('\n')?;
        let (_, after) = rest.split_once(&end)?;
        Some((before, line, after))
    });
    match parts {
        Some((before, line, after)) => Ok(format!("{before}{begin}{line}\n{new}{end}{after}")),
        None => Err(Failure::new(format!(
            "the marks of {mark} are gone from the page"
        ))),
    }
}

/// A result; `Null`: it was not run, or not all of it, which the page leaves out.
fn result(results: &Path, file: &str) -> Result<Value, Failure> {
    let path = results.join(format!("{file}.json"));
    if !path.exists() {
        return Ok(Value::Null);
    }
    let result: Value = serde_json::from_str(&read(&path)?)
        .map_err(|error| Failure::new(format!("{} is no JSON: {error}", path.display())))?;
    let whole = file != MATRIX || result["part"] == crash_matrix::WHOLE;
    Ok(if whole { result } else { Value::Null })
}

fn points_of_the_whole(results: &Path) -> Result<String, Failure> {
    if result(results, MATRIX)?.is_null() {
        return Ok("The whole matrix was not run since this page was written.\n".to_owned());
    }
    points(&read(&results.join("crash-matrix.jsonl"))?)
}

/// What happened in the simulation, a line for each group.
fn faults(simulation: &Value) -> String {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let happened = simulation["happened"].as_object();
    for (name, times) in happened.into_iter().flatten() {
        let (group, what) = name.split_once(": ").unwrap_or(("", name));
        let times = grouped(times.as_u64().unwrap_or_default());
        groups.entry(group).or_default().push(format!("{what} {times}"));
    }
    let mut table = "| of what | what, and how often |\n|---|---|\n".to_owned();
    for (group, all) in groups {
        let _ = writeln!(table, "| {group} | {} |", all.join(", "));
    }
    table
}

/// What was not run is left out.
fn numbers(results: &Path) -> Result<String, Failure> {
    let mut table = "| what | number |\n|---|---|\n".to_owned();
    let counts = results.join(MODEL);
    if counts.exists() {
        let counts = read(&counts)?;
        for (what, field, told) in [
            (
                "explored",
                "states",
                "states of the machine explored, breadth first, each search without a violation",
            ),
            (
                "seeds",
                "seeds",
                "random runs in the reference model, without a violation",
            ),
        ] {
            let _ = writeln!(table, "| {told} | {} |", grouped(total(&counts, what, field)?));
        }
    }
    for (file, field, what) in SHOWN {
        let result = result(results, file)?;
        if result.is_null() {
            continue;
        }
        let number = result[field]
            .as_u64()
            .ok_or_else(|| Failure::new(format!("{file}.json has no {field}")))?;
        let _ = writeln!(table, "| {what} | {} |", grouped(number));
    }
    Ok(table)
}

/// The sum of a field over the lines about something.
fn total(lines: &str, what: &str, field: &str) -> Result<u64, Failure> {
    let mut total = 0;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| Failure::new(format!("a line of {MODEL} is no JSON: {error}")))?;
        if line["what"] == what {
            total += line[field].as_u64().unwrap_or_default();
        }
    }
    Ok(total)
}

/// How often each point was hit, by whom was killed.
fn points(lines: &str) -> Result<String, Failure> {
    let mut counts: BTreeMap<String, [u64; 5]> = BTreeMap::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line)
            .map_err(|error| Failure::new(format!("a line of the crash matrix is no JSON: {error}")))?;
        let point = line["point"].as_str().unwrap_or_default();
        let point = point.split('#').next().unwrap_or_default().to_owned();
        let victim = match line["case"].as_str().and_then(|case| case.rsplit(' ').next()) {
            Some("Bridge") => 0,
            Some("Plugin") => 1,
            Some("Both") => 2,
            _ => 3,
        };
        let count = counts.entry(point).or_default();
        count[victim] += u64::from(line["hit"] == true);
        count[4] += u64::from(line["wrong"].as_array().is_some_and(|wrong| !wrong.is_empty()));
    }
    let mut table =
        "| point | bridge killed | plugin killed | both killed | leader stopped | wrong |\n|---|---|---|---|---|---|\n".to_owned();
    for (point, [bridge, plugin, both, leader, wrong]) in counts {
        let _ = writeln!(
            table,
            "| `{point}` | {bridge} | {plugin} | {both} | {leader} | {wrong} |"
        );
    }
    Ok(table)
}

/// The number with commas: `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_between_the_marks_and_again() {
        let page = "a\n<!-- numbers: by it -->\nold\n<!-- end of numbers -->\nb\n";
        let once = between(page, "numbers", "new\n").unwrap();
        assert_eq!(
            once,
            "a\n<!-- numbers: by it -->\nnew\n<!-- end of numbers -->\nb\n"
        );
        assert_eq!(between(&once, "numbers", "new\n").unwrap(), once);
        assert!(between("a", "numbers", "").is_err());
    }

    #[test]
    fn faults_are_counted_by_group() {
        let simulation =
            serde_json::json!({"happened": {"api: Gone": 2, "api: Late": 1_234, "watch: Cut": 3}});
        let table = faults(&simulation);
        assert!(
            table.ends_with("|\n| api | Gone 2, Late 1,234 |\n| watch | Cut 3 |\n"),
            "{table}"
        );
    }

    #[test]
    fn points_are_counted_by_kill_target() {
        let lines = r#"{"case":"Named [*] create/before intent#1 Bridge","point":"create/before intent#1","hit":true,"wrong":[]}
{"case":"Named [*] create/before intent#2 Both","point":"create/before intent#2","hit":true,"wrong":["x"]}"#;
        let table = points(lines).unwrap();
        assert!(
            table.ends_with("| `create/before intent` | 1 | 0 | 1 | 0 | 1 |\n"),
            "{table}"
        );
    }

    #[test]
    fn the_page_shows_the_complete_matrix_or_nothing() {
        let folder = std::env::temp_dir().join(format!("crossbridge-page-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let sum = |part| {
            let sum = serde_json::json!({"part": part, "cases": 13_288, "hit": 13_288, "kills": 200, "asked": 90, "lost": 0, "duplicates": 0});
            fs::write(folder.join("crash-matrix.json"), sum.to_string()).unwrap();
        };
        fs::write(folder.join("crash-matrix.jsonl"), "").unwrap();
        sum("7/20");
        let of_a_part = (numbers(&folder).unwrap(), points_of_the_whole(&folder).unwrap());
        sum(crash_matrix::WHOLE);
        let of_all = (numbers(&folder).unwrap(), points_of_the_whole(&folder).unwrap());
        fs::remove_dir_all(&folder).unwrap();
        assert!(
            !of_a_part.0.contains("matrix") && !of_a_part.1.contains('|'),
            "{of_a_part:?}"
        );
        assert!(
            of_all.0.contains("all of it | 13,288 |") && of_all.1.starts_with('|'),
            "{of_all:?}"
        );
    }

    #[test]
    fn the_model_s_counts_are_added_up() {
        let lines = "{\"what\":\"explored\",\"states\":2}\n{\"what\":\"seeds\",\"seeds\":5}\n{\"what\":\"explored\",\"states\":3}";
        assert_eq!(total(lines, "explored", "states").unwrap(), 5);
        assert_eq!(total(lines, "seeds", "seeds").unwrap(), 5);
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(
            ["0", "999", "1,000", "1234567"].map(|text| grouped(text.replace(',', "").parse().unwrap())),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
