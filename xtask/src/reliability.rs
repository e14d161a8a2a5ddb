//! Writes the numbers of `docs/reliability.md`, from what the proofs left behind.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::project::Project;
use crate::report::Report;
use crate::{Failure, crash_matrix};

/// What is shown of each result: file, field, and what it is called.
const SHOWN: [(&str, &str, &str); 13] = [
    ("explorer", "states", "states explored, each once"),
    ("explorer", "violations", "violated invariants"),
    ("rules", "rules", "rules taken out, one after the other"),
    ("rules", "missed", "rules that nothing missed"),
    ("simulation", "seeds", "seeds run in virtual time"),
    ("simulation", "violations", "violated invariants in them"),
    ("crash-matrix", "part", "part of the crash matrix that was run"),
    ("crash-matrix", "cases", "its cases"),
    ("crash-matrix", "hit", "of them hit at their point"),
    ("crash-matrix", "kills", "real processes killed with SIGKILL"),
    (
        "crash-matrix",
        "asked",
        "cases in which a person was asked (kinds without a recovery)",
    ),
    ("crash-matrix", "lost", "external objects lost"),
    ("crash-matrix", "duplicates", "duplicates"),
];

pub(crate) async fn run_all(reuse: bool) -> Result<(), Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    if !reuse {
        crash_matrix::run_part(&project, &report, crash_matrix::Choice::Whole).await?;
    }
    let results = project.results()?;
    let page = project.root.join("docs/reliability.md");
    let text = read(&page)?;
    let text = between(&text, "numbers", &numbers(&results)?)?;
    let text = between(
        &text,
        "points",
        &points(&read(&results.join("crash-matrix.jsonl"))?)?,
    )?;
    fs::write(&page, text)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
    report.say(&format!("wrote {}", page.display()));
    Ok(())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// Puts `new` between the two marks.
fn between(text: &str, mark: &str, new: &str) -> Result<String, Failure> {
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

/// What was not run is left out.
fn numbers(results: &Path) -> Result<String, Failure> {
    let mut table = "| what | number |\n|---|---|\n".to_owned();
    for (file, field, what) in SHOWN {
        let path = results.join(format!("{file}.json"));
        if !path.exists() {
            continue;
        }
        let result: Value = serde_json::from_str(&read(&path)?)
            .map_err(|error| Failure::new(format!("{} is no JSON: {error}", path.display())))?;
        let number = match &result[field] {
            Value::String(text) if text == "0/1" => "all".to_owned(),
            Value::String(text) => text.clone(),
            number => number
                .as_u64()
                .map(grouped)
                .ok_or_else(|| Failure::new(format!("{} does not tell {field}", path.display())))?,
        };
        let _ = writeln!(table, "| {what} | {number} |");
    }
    Ok(table)
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

/// `1234567` as `1,234,567`.
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
    fn points_are_counted_by_victim() {
        let lines = r#"{"case":"Named [*] create/before intent#1 Bridge","point":"create/before intent#1","hit":true,"wrong":[]}
{"case":"Named [*] create/before intent#2 Both","point":"create/before intent#2","hit":true,"wrong":["x"]}"#;
        let table = points(lines).unwrap();
        assert!(
            table.ends_with("| `create/before intent` | 1 | 0 | 1 | 0 | 1 |\n"),
            "{table}"
        );
    }

    #[test]
    fn large_numbers_are_grouped() {
        assert_eq!(
            ["0", "999", "1,000", "1234567"].map(|text| grouped(text.replace(',', "").parse().unwrap())),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
