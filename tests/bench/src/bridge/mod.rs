//! What lives of managed resources cost: the real control plane, the bridge, and a plugin whose cloud is in its memory.

mod board;
mod phases;
mod subject;

use std::{fs, path::PathBuf, time::Duration};

use bridge_bench::report::Report;
use clap::Args;

use crate::usage::{Busy, machine};
use subject::Subject;

/// How much is measured.
#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// One run with few objects: to see that it works, and changes of half.
    #[arg(long)]
    quick: bool,
    /// Runs of each side.
    #[arg(long)]
    runs: Option<usize>,
    /// Objects of the burst.
    #[arg(long)]
    objects: Option<usize>,
    /// Objects for memory and restart; 0: those rows are left out.
    #[arg(long)]
    many: Option<usize>,
    /// Only this kind: `named` or `given`.
    #[arg(long)]
    kind: Option<String>,
    /// Where table and JSON are written.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

/// A kind of the plugin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    name: &'static str,
    plural: &'static str,
    /// In the names of rows.
    what: &'static str,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "Named",
        plural: "named",
        what: "named by the user",
    },
    Kind {
        name: "Given",
        plural: "given",
        what: "named by the cloud",
    },
];

/// How often what is at rest is observed, of few objects and of many.
const POLL: Duration = Duration::from_secs(10);
const POLL_OF_MANY: Duration = Duration::from_mins(1);

/// Above this share other work distorts times, and processor time by what it does to caches.
const QUIET: f64 = 0.1;

pub(crate) async fn measure(args: &BridgeArgs) {
    let (runs, objects, many) = if args.quick {
        (1, 200, 0)
    } else {
        (3, 1_000, 10_000)
    };
    let runs = args.runs.unwrap_or(runs);
    let objects = args.objects.unwrap_or(objects);
    let many = args.many.unwrap_or(many);

    let mut report = Report::default();
    report.notes.push(format!("{}.", machine()));
    let before = Busy::now();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let busy = before.share_since();
    let quiet = if busy > QUIET {
        "The machine was NOT quiet"
    } else {
        "The machine was quiet"
    };
    report.notes.push(format!(
        "{quiet}: {:.0} % busy with other work before the first run. {runs} runs of {objects} objects.",
        busy * 100.0
    ));

    let kinds = KINDS
        .iter()
        .filter(|kind| args.kind.as_deref().is_none_or(|only| only == kind.plural));
    for kind in kinds {
        for run in 1..=runs {
            eprintln!("{}, run {run} of {runs}", kind.what);
            let mut subject = Subject::start(POLL).await;
            phases::lives(&mut subject, *kind, objects, &mut report).await;
        }
        if many > 0 {
            eprintln!("{}, {many} objects", kind.what);
            let mut subject = Subject::start(POLL_OF_MANY).await;
            phases::many(&mut subject, *kind, many, POLL_OF_MANY, &mut report).await;
        }
        write(&report, args);
    }
    println!("{}", report.to_table());
}

/// After each kind, as the whole takes long.
fn write(report: &Report, args: &BridgeArgs) {
    fs::create_dir_all(&args.out).expect("a folder for the results");
    let table = args.out.join("bridge.md");
    fs::write(&table, report.to_table()).expect("the table is written");
    let json = args.out.join("bridge.json");
    fs::write(&json, format!("{:#}\n", report.to_json())).expect("the figures are written");
    eprintln!("written: {}, {}", table.display(), json.display());
}
