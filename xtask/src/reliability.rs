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

/// What gives numbers by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Proof {
    /// Search the states of the machine, and run random schedules in the reference model.
    Model,
    /// Switch off each rule of the machine.
    Rules,
    /// Run seeds of the whole bridge in virtual time.
    Simulation,
    /// Run the whole crash matrix.
    Matrix,
}

impl Proof {
    const ALL: [Self; 4] = [Self::Model, Self::Rules, Self::Simulation, Self::Matrix];

    async fn run(self, project: &Project, report: &Report, built: &Built) -> Result<(), Failure> {
        match self {
            Self::Model => {
                let results = project.results()?;
                let model = model(built, &results);
                let step = "search the states of the machine, and run random schedules";
                report.step(step, model).await.map(drop)
            }
            Self::Rules => rules::run_all(project, report).await,
            Self::Simulation => simulate::first(project, report).await,
            Self::Matrix => crash_matrix::run_part(project, report, crash_matrix::Choice::Whole)
                .await
                .map(drop),
        }
    }
}

/// A number of the page.
struct Row {
    of: Proof,
    what: &'static str,
    field: &'static str,
}

const fn row(of: Proof, field: &'static str, what: &'static str) -> Row {
    Row { of, what, field }
}

const ROWS: [Row; 12] = [
    row(
        Proof::Model,
        "explored states",
        "states of the machine explored, breadth first, each search without a violation",
    ),
    row(
        Proof::Model,
        "seeds seeds",
        "random runs in the reference model, without a violation",
    ),
    row(
        Proof::Rules,
        "out",
        "rules of the machine switched off, one at a time",
    ),
    row(Proof::Rules, "missed", "of them detected by a test"),
    row(
        Proof::Simulation,
        "seeds",
        "seeds of the whole bridge in virtual time",
    ),
    row(Proof::Simulation, "violations", "violated invariants in them"),
    row(Proof::Matrix, "cases", "cases of the crash matrix, all of it"),
    row(Proof::Matrix, "hit", "of them hit at their point"),
    row(Proof::Matrix, "kills", "real processes killed with SIGKILL"),
    row(
        Proof::Matrix,
        "asked",
        "cases in which a person was asked (kinds without a recovery)",
    ),
    row(Proof::Matrix, "lost", "external objects lost"),
    row(Proof::Matrix, "duplicates", "duplicates"),
];

const PAGE: &str = "docs/reliability.md";

/// What the tests of the reference model report, a line of JSON each.
const MODEL: &str = "model.jsonl";

/// Runs these, or all. The numbers of the others stay as they are.
pub(crate) async fn run_all(only: &[Proof]) -> Result<(), Failure> {
    let (report, project) = (Report::new(), Project::find().await?);
    let results = project.results()?;
    let proofs = if only.is_empty() { &Proof::ALL[..] } else { only };
    let commit = project.clean_commit(PAGE).await?;
    let built = report.step("build everything", build_all(&project.root)).await?;
    let page = project.root.join(PAGE);
    for proof in proofs {
        proof.run(&project, &report, &built).await?;
        // Some of them build anew.
        if project.clean_commit(PAGE).await? != commit {
            return Err(Failure::new(format!(
                "another commit than {commit} was checked out meanwhile: the numbers may be of either, and are not written"
            )));
        }
        // After each: what comes next may take an hour.
        let text = renewed(&read(&page)?, *proof, &results, &commit)?;
        fs::write(&page, text)
            .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.display())))?;
        report.say(&format!("wrote {}", page.display()));
    }
    Ok(())
}

/// The page with the new numbers of a proof.
fn renewed(page: &str, proof: Proof, results: &Path, commit: &str) -> Result<String, Failure> {
    let text = between(page, "numbers", &numbers(page, proof, results, commit)?)?;
    match proof {
        Proof::Model | Proof::Rules => Ok(text),
        Proof::Simulation => between(&text, "faults", &faults(&result(results, "simulation")?)),
        Proof::Matrix => between(
            &text,
            "points",
            &points(&read(&results.join("crash-matrix.jsonl"))?)?,
        ),
    }
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
    let (before, _, after) = split(text, mark)?;
    Ok(format!("{before}{new}{after}"))
}

/// What stands between the two marks.
pub(crate) fn within<'t>(text: &'t str, mark: &str) -> Result<&'t str, Failure> {
    let (_, held, _) = split(text, mark)?;
    Ok(held)
}

/// What stands before the two marks, with the line of the first, between them, and after, with the second.
fn split<'t>(text: &'t str, mark: &str) -> Result<(&'t str, &'t str, &'t str), Failure> {
    let (begin, end) = (format!("<!-- {mark}:"), format!("<!-- end of {mark} -->"));
    let parts = text.find(&begin).and_then(|begin| {
        let begin = begin + text[begin..].find('\n')? + 1;
        let end = begin + text[begin..].find(&end)?;
        Some((&text[..begin], &text[begin..end], &text[end..]))
    });
    parts.ok_or_else(|| Failure::new(format!("the marks of {mark} are gone from the page")))
}

fn result(results: &Path, file: &str) -> Result<Value, Failure> {
    let path = results.join(format!("{file}.json"));
    serde_json::from_str(&read(&path)?)
        .map_err(|error| Failure::new(format!("{} is no JSON: {error}", path.display())))
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

/// The table: new rows of a proof, with the commit that they are of, and the others as the page has them.
fn numbers(page: &str, proof: Proof, results: &Path, commit: &str) -> Result<String, Failure> {
    let mut table = "| what | number | at commit |\n|---|---|---|\n".to_owned();
    for row in &ROWS {
        let begin = format!("| {} |", row.what);
        if row.of == proof {
            let number = grouped(row.number(results)?);
            let _ = writeln!(table, "{begin} {number} | {commit} |");
        } else {
            let line = page.lines().find(|line| line.starts_with(&begin));
            let line =
                line.ok_or_else(|| Failure::new(format!("the row {:?} is gone from the page", row.what)))?;
            let _ = writeln!(table, "{line}");
        }
    }
    Ok(table)
}

impl Row {
    fn number(&self, results: &Path) -> Result<u64, Failure> {
        let file = match self.of {
            Proof::Model => {
                let (what, field) = self.field.split_once(' ').unwrap_or_default();
                return total(&read(&results.join(MODEL))?, what, field);
            }
            Proof::Rules => "rules",
            Proof::Simulation => "simulation",
            Proof::Matrix => "crash-matrix",
        };
        let number = result(results, file)?[self.field].as_u64();
        number.ok_or_else(|| Failure::new(format!("{file}.json has no {}", self.field)))
    }
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
        assert_eq!(within(&once, "numbers").unwrap(), "new\n");
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
    fn the_numbers_of_one_proof_are_renewed_and_the_others_stay() {
        let folder = std::env::temp_dir().join(format!("crossbridge-page-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("rules.json"), r#"{"out": 160, "missed": 159}"#).unwrap();
        let mut page = "<!-- numbers: by it -->\n| what | number | at commit |\n|---|---|---|\n".to_owned();
        for row in &ROWS {
            let _ = writeln!(page, "| {} | 81 | old |", row.what);
        }
        page.push_str("<!-- end of numbers -->\n");
        let renew =
            |page: &str, proof| renewed(page, proof, &folder, "new").map_err(|error| error.to_string());
        let (new, no_result) = (renew(&page, Proof::Rules), renew(&page, Proof::Matrix));
        let reworded = renew(&page.replace("duplicates", "doubles"), Proof::Rules);
        fs::remove_dir_all(&folder).unwrap();
        let expected = page
            .replace("one at a time | 81 | old |", "one at a time | 160 | new |")
            .replace(
                "detected by a test | 81 | old |",
                "detected by a test | 159 | new |",
            );
        assert_eq!(new.unwrap(), expected);
        assert!(no_result.unwrap_err().contains("crash-matrix.json"));
        assert_eq!(
            reworded.unwrap_err(),
            "the row \"duplicates\" is gone from the page"
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
