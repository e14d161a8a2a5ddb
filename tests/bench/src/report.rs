//! Rows, as a table for people and as JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::figures::Spread;

/// One figure, measured in each run.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// In which unit.
    pub unit: &'static str,
    /// One of each run.
    pub values: Vec<f64>,
}

/// All rows, in the order in which they came first.
#[derive(Debug, Default)]
pub struct Report {
    /// How it was measured, and where.
    pub notes: Vec<String>,
    rows: Vec<Row>,
}

impl Report {
    /// Notes a figure of one run.
    pub fn note(&mut self, what: impl Into<String>, unit: &'static str, value: f64) {
        let what = what.into();
        match self.rows.iter_mut().find(|row| row.what == what) {
            Some(row) => row.values.push(value),
            None => self.rows.push(Row {
                what,
                unit,
                values: vec![value],
            }),
        }
    }

    /// Markdown.
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        text += "\n| what | unit | min | median | max |\n|---|---|---|---|---|\n";
        for row in &self.rows {
            let Some(spread) = Spread::of(&row.values) else {
                continue;
            };
            let [min, median, max] = [spread.min, spread.median, spread.max].map(short);
            let _ = writeln!(text, "| {} | {} | {min} | {median} | {max} |", row.what, row.unit);
        }
        text
    }

    /// The same, with the figure of each run.
    pub fn to_json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|row| json!({"what": row.what, "unit": row.unit, "values": row.values}))
            .collect();
        json!({"notes": self.notes, "rows": rows})
    }
}

/// Three digits that count, and no fewer than stand before the point.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_figure_share_a_row() {
        let mut report = Report::default();
        report.note("drain", "per s", 150.0);
        report.note("idle poll", "ms", 0.1234);
        report.note("drain", "per s", 90.25);
        let table = report.to_table();
        assert!(
            table.contains("| drain | per s | 90.2 | 90.2 | 150 |\n| idle poll | ms | 0.123 |"),
            "{table}"
        );
        assert_eq!(report.to_json()["rows"][0]["values"], json!([150.0, 90.25]));
    }
}
