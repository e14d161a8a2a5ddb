//! What composite resources and claims cost: the real control plane, one function, and either the bridge or a controller on
//! controller-runtime that makes Crossplane's requests.

mod blocked;
mod calls;
mod chains;
mod definitions;
mod endings;
mod guard;
mod large;
mod lives;
mod manifests;
mod many;
mod rest;
mod subject;
mod trouble;

use std::{path::PathBuf, time::Duration};

use bridge_bench::report::{Report, Side};
use clap::Args;

use crate::{output, sides::Sides, usage::machine};
use blocked::Blocked;
use lives::Counts;
use manifests::Composed;
use many::Many;
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
    /// Runs of what is measured of many XRs, of one of 1,000 objects, and beside trouble.
    #[arg(long)]
    many_runs: Option<usize>,
    /// XRs of 10 objects; 0: what is measured of many is left out.
    #[arg(long)]
    many: Option<usize>,
    /// Without XRs and claims of 4 objects.
    #[arg(long)]
    no_lives: bool,
    /// XRs, and claims, of 4 managed resources in a burst; 0: what is measured of them is left out.
    #[arg(long)]
    managed: Option<usize>,
    /// XRs of 1 object beside others in trouble, and one XR of 1,000; 0: both are left out. No more than are made while a call is waited for.
    #[arg(long, value_parser = clap::value_parser!(u16).range(..=220))]
    trouble: Option<u16>,
    /// As many XRs of 10 objects, of which nothing but rest and memory is measured. May be given several times; 0: it is left out.
    #[arg(long)]
    at_rest: Vec<usize>,
    /// Of which commit the binaries are, for the notes.
    #[arg(long, default_value = "an unknown commit")]
    commit: String,
    /// Where table, JSON and pictures are written.
    #[arg(long, default_value = "target/bench")]
    out: PathBuf,
}

/// What is measured in each run.
#[derive(Debug, Clone)]
struct Plan {
    runs: usize,
    many_runs: usize,
    counts: Counts,
    /// Of XRs and claims of managed resources.
    managed: Counts,
    many: Many,
    /// Other counts of the same XRs, at rest.
    at_rest: Vec<usize>,
    blocked: Blocked,
    /// XRs of 1 object, which are deleted with their definition.
    drained: usize,
    /// XRs of 1 object beside others in trouble.
    trouble: usize,
}

/// For how long other counts are at rest: what is of interest is their memory.
const REST_OF_OTHERS: Duration = Duration::from_mins(1);

impl Plan {
    fn of(args: &CompositionsArgs) -> Self {
        let mut plan = if args.quick { Self::quick() } else { Self::full() };
        plan.runs = args.runs.unwrap_or(plan.runs);
        plan.many_runs = args.many_runs.unwrap_or(plan.runs);
        if let Some(managed) = args.managed {
            plan.managed.paced = plan.managed.paced.min(managed);
            (plan.managed.burst, plan.managed.claims) = (managed, managed);
        }
        plan.many.objects = args.many.unwrap_or(plan.many.objects);
        plan.blocked.objects = args.many.unwrap_or(plan.blocked.objects);
        plan.trouble = args.trouble.map_or(plan.trouble, usize::from);
        if !args.at_rest.is_empty() {
            plan.at_rest = args.at_rest.iter().copied().filter(|count| *count > 0).collect();
            plan.at_rest.sort_unstable();
            plan.at_rest.dedup();
        }
        plan
    }

    /// How many of which lives are measured.
    fn lives(&self, args: &CompositionsArgs) -> impl Iterator<Item = (Composed, Counts)> {
        let parts = (!args.no_lives).then_some((Composed::Parts, self.counts));
        let managed = (self.managed.burst > 0).then_some((Composed::Managed, self.managed));
        parts.into_iter().chain(managed)
    }

    /// Where, and how much.
    fn note(&self, runs: usize, commit: &str) -> String {
        let (few, many) = (runs, runs.min(self.many_runs));
        let runs = if few == many {
            output::runs_in_words(few)
        } else {
            let many = output::runs_in_words(many).to_lowercase();
            format!("{}; of many XRs {many}", output::runs_in_words(few))
        };
        let (few, managed) = (self.counts, self.managed);
        format!(
            "At {commit}, {}. {runs}; bursts of {} XRs and {} claims, of {} and {} of managed resources.",
            machine(),
            few.burst,
            few.claims,
            managed.burst,
            managed.claims
        )
    }

    fn quick() -> Self {
        Self {
            runs: 1,
            many_runs: 1,
            counts: Counts {
                paced: 25,
                burst: 100,
                claims: 50,
            },
            managed: Counts {
                paced: 25,
                burst: 30,
                claims: 30,
            },
            many: Many {
                objects: 50,
                rest: Duration::from_secs(20),
                ttl_rest: Duration::from_secs(65),
            },
            at_rest: Vec::new(),
            blocked: Blocked {
                objects: 100,
                span: Duration::from_secs(30),
            },
            drained: 200,
            trouble: 20,
        }
    }

    fn full() -> Self {
        Self {
            runs: 3,
            many_runs: 3,
            counts: Counts {
                paced: 100,
                burst: 300,
                claims: 100,
            },
            managed: Counts {
                paced: 100,
                burst: 300,
                claims: 300,
            },
            many: Many {
                objects: 1_000,
                rest: Duration::from_mins(10),
                ttl_rest: Duration::from_mins(10),
            },
            at_rest: vec![100, 1_000, 5_000],
            blocked: Blocked {
                objects: 1_000,
                span: Duration::from_mins(10),
            },
            drained: 500,
            trouble: 200,
        }
    }
}

pub(crate) async fn measure(args: &CompositionsArgs) {
    let plan = Plan::of(args);
    let runs = plan.runs;
    let mut report = Report::default();
    let other_work = output::note_of_other_work().await;
    eprintln!("{other_work}");
    for run in 1..=runs {
        // What is written down so far is of so many runs.
        report.notes = vec![plan.note(run, &args.commit), other_work.clone()];
        for (composed, counts) in plan.lives(args) {
            for side in args.side.all() {
                eprintln!("lives of {composed:?}, run {run} of {runs}, {side:?}");
                let mut subject = Subject::start(*side, composed).await;
                lives::measure(&mut subject, counts, &mut report).await;
                eprintln!("the function used {:.1} s", subject.function());
                output::write(&report, &args.out, "compositions");
            }
        }
        let is_measured = run <= plan.many_runs && args.side.all().contains(&Side::Ours);
        if plan.many.objects > 0 && is_measured {
            eprintln!("many, run {run} of {runs}");
            let mut subject = Subject::start(Side::Ours, Composed::Parts).await;
            blocked::measure(&subject, plan.blocked, &mut report).await;
            guard::measure(&mut subject, &mut report).await;
            output::write(&report, &args.out, "compositions");
            chains::measure(&subject, &mut report).await;
            many::measure(&mut subject, plan.many, &mut report).await;
            // Last, as a definition goes for good.
            endings::measure(&subject, plan.drained, &mut report).await;
            output::write(&report, &args.out, "compositions");
        }
        for &objects in plan.at_rest.iter().filter(|_| is_measured) {
            eprintln!("{objects} at rest, run {run} of {runs}");
            let subject = Subject::start(Side::Ours, Composed::Parts).await;
            let rest = plan.many.rest.min(REST_OF_OTHERS);
            let many = Many {
                objects,
                rest,
                ..plan.many
            };
            many::measure_rest(&subject, many, &mut report).await;
            output::write(&report, &args.out, "compositions");
        }
        if plan.trouble > 0 && is_measured {
            eprintln!("one of 1000, and trouble, run {run} of {runs}");
            let subject = Subject::start(Side::Ours, Composed::Parts).await;
            large::measure(&subject, &mut report).await;
            trouble::measure(&subject, plan.trouble, &mut report).await;
            output::write(&report, &args.out, "compositions");
        }
    }
    println!("{}", report.to_table());
}
