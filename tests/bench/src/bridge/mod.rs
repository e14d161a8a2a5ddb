//! What lives of managed resources cost: the real control plane, and either the bridge with a plugin whose cloud is in its memory, or a provider
//! on controller-runtime with the same cloud.

mod many;
mod objects;
mod phases;
mod printed;
mod subject;

use std::{path::PathBuf, time::Duration};

use bridge_bench::{
    report::Report,
    rows::{self, Row},
};
use clap::Args;

use crate::{managed::POLL_OF_LIVES, output, sides::Sides, usage::machine};
use subject::Subject;

/// How much is measured.
#[derive(Debug, Args)]
pub(crate) struct BridgeArgs {
    /// One run with few objects: to see that it works, and changes of half.
    #[arg(long)]
    quick: bool,
    /// Who is measured.
    #[arg(long, value_enum, default_value_t)]
    side: Sides,
    /// Runs of each side.
    #[arg(long)]
    runs: Option<usize>,
    /// Objects of the burst.
    #[arg(long)]
    objects: Option<usize>,
    /// Objects for memory and restart, one number after another; 0: those rows are left out.
    #[arg(long, value_delimiter = ',')]
    many: Option<Vec<usize>>,
    /// Only this kind: `named` or `given`.
    #[arg(long)]
    kind: Option<String>,
    /// Bytes to which objects are padded, as they are when they are Ready; 0: all have the same spec, and each side's own size.
    #[arg(long, default_value_t = 3_500)]
    pad: usize,
    /// The peer's flag of the same name; 10 is the default of providers. 0: it has no limits, and 32 workers.
    #[arg(long, default_value_t = 0)]
    max_reconcile_rate: u32,
    /// Of which commit the binaries are, for the notes.
    #[arg(long, default_value = "an unknown commit")]
    commit: String,
    /// Where table, JSON and pictures are written.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

/// A kind of the plugin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    name: &'static str,
    plural: &'static str,
    /// Over the rows.
    what: &'static str,
    writes: &'static Row,
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "Named",
        plural: "named",
        what: "named by the user",
        writes: &rows::WRITES_NAMED,
    },
    Kind {
        name: "Given",
        plural: "given",
        what: "named by the cloud",
        writes: &rows::WRITES_GIVEN,
    },
];

/// How both sides are started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// How often what is at rest is observed.
    pub(crate) poll: Duration,
    pub(crate) pad: usize,
    pub(crate) max_reconcile_rate: u32,
}

/// Of many objects it is as long as makes this many polls per second, and no shorter than that: a peer could not keep up with more on two cores.
const LEAST_POLL: Duration = Duration::from_secs(10);
const POLLS_PER_SECOND: u64 = 167;

pub(crate) async fn measure(args: &BridgeArgs) {
    let (runs, objects, many) = if args.quick {
        (1, 200, vec![1_000])
    } else {
        (3, 1_000, vec![1_000, 10_000])
    };
    let runs = args.runs.unwrap_or(runs);
    let objects = args.objects.unwrap_or(objects);
    let many = args.many.clone().unwrap_or(many);

    let mut report = Report::default();
    report.notes = notes(args, runs, objects).await;
    eprintln!("{}", report.notes.join("\n"));

    let kinds = KINDS
        .iter()
        .filter(|kind| args.kind.as_deref().is_none_or(|only| only == kind.plural));
    for (number, kind) in kinds.enumerate() {
        for run in 1..=runs {
            for side in args.side.all() {
                eprintln!("{}, run {run} of {runs}, {side:?}", kind.what);
                let mut subject = Subject::start(*side, settings(args, POLL_OF_LIVES)).await;
                phases::lives(&mut subject, *kind, objects, &mut report).await;
            }
            output::write(&report, &args.out, "bridge");
        }
        for &many in many.iter().filter(|many| **many > 0) {
            // What a kind's names come from makes no difference to memory: once is enough, where it is to be quick.
            if args.quick && number > 0 {
                continue;
            }
            for side in args.side.all() {
                eprintln!("{}, {many} objects, {side:?}", kind.what);
                let mut subject = Subject::start(*side, settings(args, poll_of(many))).await;
                many::measure(&mut subject, *kind, many, &mut report).await;
            }
            output::write(&report, &args.out, "bridge");
        }
    }
    println!("{}", report.to_table());
}

fn settings(args: &BridgeArgs, poll: Duration) -> Settings {
    Settings {
        poll,
        pad: args.pad,
        max_reconcile_rate: args.max_reconcile_rate,
    }
}

fn poll_of(objects: usize) -> Duration {
    let objects = u64::try_from(objects).unwrap_or(u64::MAX);
    Duration::from_secs(objects.div_ceil(POLLS_PER_SECOND)).max(LEAST_POLL)
}

/// Where and how it was measured, and whether that machine was quiet.
async fn notes(args: &BridgeArgs, runs: usize, objects: usize) -> Vec<String> {
    let runs = output::runs_in_words(runs);
    let limits = match args.max_reconcile_rate {
        0 => "no limits and 32 workers".to_owned(),
        rate => format!("`--max-reconcile-rate {rate}`"),
    };
    vec![
        format!(
            "At {}, {}. {runs}, of {objects} objects; the peer has {limits}.",
            args.commit,
            machine()
        ),
        output::note_of_other_work().await,
    ]
}
