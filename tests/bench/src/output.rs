//! What is said of the machine, and where results are written.

use std::{fs, path::Path, time::Duration};

use bridge_bench::report::Report;

use crate::usage::{Busy, load};

/// Above this share other work distorts times, and processor time by what it does to caches.
const QUIET: f64 = 0.1;

/// Whether the machine was quiet before the first run.
pub(crate) async fn note_of_other_work() -> String {
    let before = Busy::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let busy = before.share_since();
    let quiet = if busy > QUIET {
        "**The machine was not quiet**: times count for little, and processor time is too high on both sides;"
    } else {
        "The machine was quiet:"
    };
    format!(
        "{quiet} {:.0} % of it were busy with other work before the first run, load {}.",
        busy * 100.0,
        load()
    )
}

pub(crate) fn runs_in_words(runs: usize) -> String {
    match runs {
        1 => "One run".to_owned(),
        runs => format!("The median of {runs} runs, with the least and the greatest"),
    }
}

/// Table, JSON and pictures, after each part, as the whole takes long.
pub(crate) fn write(report: &Report, out: &Path, name: &str) {
    fs::create_dir_all(out).expect("a folder for the results");
    let table = out.join(format!("{name}.md"));
    fs::write(&table, report.to_table()).expect("the table is written");
    let json = out.join(format!("{name}.json"));
    fs::write(&json, format!("{:#}\n", report.to_json())).expect("the figures are written");
    for (name, picture) in report.to_pictures() {
        fs::write(out.join(name), picture).expect("the picture is written");
    }
    eprintln!("written: {}, {}", table.display(), json.display());
}
