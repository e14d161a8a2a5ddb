//! What composite resources and claims cost: the real control plane, one function, and either the bridge or a controller on
//! controller-runtime that makes Crossplane's requests.

mod calls;
mod lives;
mod manifests;
mod subject;

use std::path::PathBuf;

use bridge_bench::report::Report;
use clap::Args;

use crate::{output, sides::Sides, usage::machine};
use lives::Counts;
use subject::Subject;

/// How much is measured.
#[derive(Debug, Args)]
pub(crate) struct CompositionsArgs {
    /// One run with few objects: to see that it works, and changes of half.
    #[arg(long)]
    quick: bool,
    /// Who is measured, where both can be.
    #[arg(long, value_enum, default_value_t)]
    side: Sides,
    /// Runs of each side.
    #[arg(long)]
    runs: Option<usize>,
    /// Where table, JSON and pictures are written.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

pub(crate) async fn measure(args: &CompositionsArgs) {
    let (runs, counts) = if args.quick {
        (1, Counts { paced: 25, burst: 100, claims: 50 })
    } else {
        (3, Counts { paced: 100, burst: 300, claims: 100 })
    };
    let runs = args.runs.unwrap_or(runs);
    let mut report = Report::default();
    report.notes = vec![
        format!(
            "{}. {} of {} XRs and {} claims in a burst; the peer has no limits and 100 workers.",
            machine(),
            output::runs_in_words(runs),
            counts.burst,
            counts.claims
        ),
        output::note_of_other_work().await,
    ];
    eprintln!("{}", report.notes.join("\n"));
    for run in 1..=runs {
        for side in args.side.all() {
            eprintln!("lives, run {run} of {runs}, {side:?}");
            let mut subject = Subject::start(*side).await;
            lives::measure(&mut subject, counts, &mut report).await;
            eprintln!("the function used {:.1} s", subject.function());
        }
        output::write(&report, &args.out, "compositions");
    }
    println!("{}", report.to_table());
}
