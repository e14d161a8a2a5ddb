//! Rows of both sides, as a table for people and as JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    figures::{Spread, quantile},
    rows::{Goal, Line, Row},
    svg,
};

/// Who was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// A provider on controller-runtime that makes crossplane-runtime's requests.
    Peer,
    /// The bridge and its plugin.
    Ours,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Peer => "Go peer",
            Self::Ours => "ours",
        }
    }
}

/// A row, of one kind of objects, and of so many where the number is given.
#[derive(Debug, Clone, PartialEq)]
struct Measured {
    kind: &'static str,
    objects: Option<usize>,
    row: &'static Row,
}

impl Measured {
    fn name(&self) -> String {
        match self.objects {
            Some(objects) => format!("{}, {objects} objects", self.row.what),
            None => self.row.what.to_owned(),
        }
    }
}

/// The values of each run.
#[derive(Debug, Default)]
struct Runs {
    peer: Vec<Vec<f64>>,
    ours: Vec<Vec<f64>>,
}

impl Runs {
    fn of(&self, side: Side) -> &[Vec<f64>] {
        match side {
            Side::Peer => &self.peer,
            Side::Ours => &self.ours,
        }
    }

    fn spread(&self, side: Side, line: &Line) -> Option<Spread> {
        let values: Vec<f64> = self
            .of(side)
            .iter()
            .map(|run| quantile(run, line.quantile))
            .collect();
        Spread::of(&values)
    }
}

/// All rows, in the order in which they came first.
#[derive(Debug, Default)]
pub struct Report {
    /// How it was measured, where, and of which commit: a sentence or more each.
    pub notes: Vec<String>,
    figures: Vec<(Measured, Runs)>,
}

impl Report {
    /// What is noted of one side and kind.
    pub fn of(&mut self, side: Side, kind: &'static str, objects: Option<usize>) -> Notes<'_> {
        Notes {
            report: self,
            side,
            kind,
            objects,
        }
    }

    /// Markdown: a table for each kind, and the notes below each, as another run may measure only some of them anew.
    pub fn to_table(&self) -> String {
        let note = self.notes.join(" ");
        let kinds = self
            .figures
            .chunk_by(|(one, _), (other, _)| one.kind == other.kind);
        let tables: Vec<String> = kinds.map(|rows| format!("{}\n{note}\n", to_rows(rows))).collect();
        tables.join("\n")
    }

    /// The same, with all values of each run.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .figures
            .iter()
            .map(|(measured, runs)| {
                json!({
                    "what": measured.row.what, "unit": measured.row.unit, "kind": measured.kind,
                    "objects": measured.objects, "peer": runs.peer, "ours": runs.ours,
                })
            })
            .collect();
        json!({"notes": self.notes, "rows": rows})
    }

    /// A picture of each row, by the name of its file.
    pub fn to_pictures(&self) -> Vec<(String, String)> {
        let picture = |(measured, runs): &(Measured, Runs)| {
            let name = format!("{} ({})", measured.name(), measured.kind);
            let series = [Side::Peer, Side::Ours].map(|side| svg::Series {
                name: side.name(),
                values: runs.of(side).concat(),
            });
            let title = format!("{name}, {}", measured.row.unit);
            let title = title.trim_end_matches([',', ' ']);
            (format!("{}.svg", slug(&name)), svg::distribution(title, &series))
        };
        self.figures.iter().map(picture).collect()
    }
}

/// Notes figures of one side and kind.
pub struct Notes<'a> {
    report: &'a mut Report,
    side: Side,
    kind: &'static str,
    objects: Option<usize>,
}

impl Notes<'_> {
    /// Notes the one figure of a run.
    pub fn note(&mut self, row: &'static Row, value: f64) {
        self.note_all(row, vec![value]);
    }

    /// Notes the figures of a run.
    pub fn note_all(&mut self, row: &'static Row, values: Vec<f64>) {
        let measured = Measured {
            kind: self.kind,
            objects: self.objects,
            row,
        };
        let figures = &mut self.report.figures;
        let at = figures.iter().position(|(held, _)| *held == measured);
        let at = at.unwrap_or_else(|| {
            // The rows of a kind stay together.
            let last = figures.iter().rposition(|(held, _)| held.kind == measured.kind);
            let at = last.map_or(figures.len(), |last| last + 1);
            figures.insert(at, (measured, Runs::default()));
            at
        });
        let runs = &mut figures[at].1;
        match self.side {
            Side::Peer => runs.peer.push(values),
            Side::Ours => runs.ours.push(values),
        }
    }
}

/// Of one kind, with a heading.
fn to_rows(rows: &[(Measured, Runs)]) -> String {
    let kind = rows.first().map_or("", |(measured, _)| measured.kind);
    let mut text =
        format!("| {kind} | unit | Go peer | ours | ratio | goal | met |\n|---|---|---|---|---|---|---|\n");
    for (measured, runs) in rows {
        for line in measured.row.lines {
            text += &to_line(measured, runs, line);
        }
    }
    text
}

fn to_line(measured: &Measured, runs: &Runs, line: &Line) -> String {
    let mut name = measured.name();
    if measured.row.lines.len() > 1 {
        let _ = write!(name, ", p{}", line.quantile);
    }
    let [peer, ours] = [Side::Peer, Side::Ours].map(|side| runs.spread(side, line));
    let ratio = ratio(peer, ours);
    let is_met = ours.and_then(|ours| line.goal.is_met(ours.median, ratio));
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} |\n",
        measured.row.unit,
        peer.map_or_else(nothing, to_cell),
        ours.map_or_else(nothing, to_cell),
        ratio.map_or_else(nothing, short),
        goal(line.goal),
        match is_met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        },
    )
}

/// Ours by the peer's; `None` also where the peer has none of it.
fn ratio(peer: Option<Spread>, ours: Option<Spread>) -> Option<f64> {
    let (peer, ours) = (peer?.median, ours?.median);
    (peer > 0.0).then(|| ours / peer)
}

fn nothing() -> String {
    "–".to_owned()
}

/// The median, and of several runs the least and the greatest.
fn to_cell(spread: Spread) -> String {
    let [min, median, max] = [spread.min, spread.median, spread.max].map(short);
    if min == max {
        return median;
    }
    format!("{median} ({min} to {max})")
}

fn goal(goal: Goal) -> String {
    match goal {
        Goal::None => String::new(),
        Goal::RatioAtMost(goal) => format!("ratio ≤ {goal}"),
        Goal::RatioAtLeast(goal) => format!("ratio ≥ {goal}"),
        Goal::AtMost(goal) => format!("≤ {goal}"),
        Goal::AtLeast(goal) => format!("≥ {goal}"),
        Goal::BothAtMost(ours, ratio) => format!("≤ {ours}, ratio ≤ {ratio}"),
    }
}

/// Three digits that count, and no fewer than stand before the point.
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.3}"),
    }
}

/// Letters and digits, and a dash for whatever is between them.
fn slug(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows;

    fn report() -> Report {
        let mut report = Report::default();
        for (side, drain, burst) in [
            (Side::Peer, 72.0, [1000.0, 3000.0]),
            (Side::Ours, 144.0, [10.0, 60.0]),
        ] {
            let mut notes = report.of(side, "named", None);
            notes.note(&rows::DRAIN, drain);
            notes.note_all(&rows::BURST, burst.to_vec());
        }
        report
    }

    #[test]
    fn both_sides_share_a_line_with_ratio_and_goal() {
        let table = report().to_table();
        let drain = "| drain, older than 30 s | per s | 72.0 | 144 | 2.00 | ratio ≥ 1.6 | yes |\n";
        assert!(table.contains(drain), "{table}");
        let burst = "| burst: create to Ready, p50 | ms | 1000 | 10.0 | 0.010 | ratio ≤ 0.02 | yes |\n\
                     | burst: create to Ready, p99 | ms | 3000 | 60.0 | 0.020 |  |  |\n";
        assert!(table.contains(burst), "{table}");
    }

    #[test]
    fn several_runs_show_their_spread() {
        let mut report = report();
        for value in [100.0, 150.0] {
            report.of(Side::Ours, "named", None).note(&rows::DRAIN, value);
        }
        let table = report.to_table();
        assert!(table.contains("| 72.0 | 144 (100 to 150) | 2.00 |"), "{table}");
        assert_eq!(
            report.to_json()["rows"][0]["ours"],
            json!([[144.0], [100.0], [150.0]])
        );
    }

    #[test]
    fn a_side_that_was_not_measured_has_no_ratio() {
        let mut report = Report::default();
        report
            .of(Side::Ours, "named", Some(1000))
            .note(&rows::MEMORY, 14.8);
        report
            .of(Side::Ours, "named", None)
            .note(&rows::WRITES_NAMED, 5.0);
        let table = report.to_table();
        let memory = "| memory per idle object, 1000 objects | KB | – | 14.8 | – | ratio ≤ 0.3 |  |\n";
        assert!(table.contains(memory), "{table}");
        assert!(table.contains("| – | 5.00 | – | ≤ 4 | no |\n"), "{table}");
    }

    #[test]
    fn rows_of_a_kind_stay_together() {
        let mut report = report();
        report.of(Side::Ours, "given", None).note(&rows::DRAIN, 1.0);
        report.of(Side::Peer, "named", None).note(&rows::SIZE, 3.5);
        let table = report.to_table();
        assert_eq!(table.matches("| named | unit |").count(), 1, "{table}");
        assert!(
            table.find("size of an object") < table.find("| given |"),
            "{table}"
        );
    }

    #[test]
    fn each_table_says_how_it_was_measured() {
        let mut report = report();
        report.notes = vec!["At abc.".to_owned(), "It was quiet.".to_owned()];
        report.of(Side::Ours, "given", None).note(&rows::DRAIN, 1.0);
        let table = report.to_table();
        assert_eq!(
            table.matches("|\n\nAt abc. It was quiet.\n").count(),
            2,
            "{table}"
        );
        assert!(table.contains("quiet.\n\n| given | unit |"), "{table}");
    }

    #[test]
    fn each_row_has_a_picture_with_a_name_of_its_own() {
        let pictures = report().to_pictures();
        let names: Vec<&str> = pictures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "drain-older-than-30-s-named.svg",
                "burst-create-to-ready-named.svg"
            ]
        );
    }
}
