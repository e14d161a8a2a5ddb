//! Composite resources and claims of 4 objects, or managed resources: created until they are Ready, and deleted.

use std::time::{Duration, Instant};

use bridge_bench::{
    composition_rows as rows,
    figures::per,
    report::{Notes, Report},
    rows::Row,
};

use super::{
    manifests::{Composed, Composite, MANAGED_ORDER, MANAGED_PURCHASE, ORDER, PURCHASE},
    subject::{Subject, Usage},
};
use crate::{
    board::Board,
    user::{create, create_paced, delete, names},
};

/// As many as show everything that is done once.
pub(crate) const FEW: usize = 4;
/// Between two that are paced.
pub(crate) const PACE: Duration = Duration::from_millis(200);

/// What is done of each kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) paced: usize,
    pub(crate) burst: usize,
    pub(crate) claims: usize,
}

/// Creation and deletion of so many, as they were used up.
struct Life {
    before: Usage,
    created: Usage,
    deleting: Usage,
    deleted: Usage,
    /// Milliseconds of each until it was Ready.
    ready: Vec<f64>,
    /// From the first request of a deletion until all that it made is absent.
    drain: Duration,
}

/// What is measured over the same content.
struct Lives {
    composite: Composite,
    /// Over the rows.
    composites: &'static str,
    claimed: Composite,
    claims: &'static str,
    paced_writes: &'static Row,
}

impl Composed {
    fn lives(self) -> Lives {
        match self {
            Self::Parts | Self::Unconvertible => Lives {
                composite: ORDER,
                composites: "an XR of 4 objects",
                claimed: PURCHASE,
                claims: "a claim of 4 objects",
                paced_writes: &rows::PACED_WRITES_PARTS,
            },
            Self::Managed => Lives {
                composite: MANAGED_ORDER,
                composites: "an XR of 4 managed resources",
                claimed: MANAGED_PURCHASE,
                claims: "a claim of 4 managed resources",
                paced_writes: &rows::PACED_WRITES_MANAGED,
            },
        }
    }
}

pub(crate) async fn measure(subject: &mut Subject, counts: Counts, report: &mut Report) {
    let lives = subject.composed.lives();
    for composite in [&lives.composite, &lives.claimed] {
        warm_up(subject, composite, FEW).await;
    }
    let (api_server, controller) = subject.rest().await;
    let mut notes = report.of(subject.side, lives.composites, None);
    notes.note(&rows::NO_OBJECT_API_SERVER, api_server * 1000.0);
    notes.note(&rows::NO_OBJECT_CONTROLLER, controller * 1000.0);
    composites(subject, &lives, counts, &mut notes).await;
    let mut notes = report.of(subject.side, lives.claims, None);
    claims(subject, &lives.claimed, counts, &mut notes).await;
}

/// What is done once, the first time, is no part of anything: so many come and go before.
pub(crate) async fn warm_up(subject: &Subject, composite: &Composite, count: usize) {
    let board = subject.board(composite);
    let first = names("first", count);
    create(&board, &first, |name| composite.manifest(name)).await;
    subject.until_old().await;
    delete(&board, &first).await;
    subject.until_no_parts().await;
}

async fn composites(subject: &Subject, lives: &Lives, counts: Counts, notes: &mut Notes<'_>) {
    let composite = &lives.composite;
    let board = subject.board(composite);
    let paced = names("paced", counts.paced);
    let before = subject.usage_when_quiet().await;
    let times = create_paced(&board, &paced, PACE, |name| composite.manifest(name)).await;
    let created = subject.usage_when_quiet().await;
    eprintln!("created at a pace: {:?}", created.requests_since(&before));
    notes.note_all(&rows::PACED, times);
    // One request of each is the user's.
    notes.note(
        lives.paced_writes,
        per(created.writes_since(&before), counts.paced) - 1.0,
    );
    subject.until_old().await;
    delete(&board, &paced).await;

    let life = live(subject, &board, composite, counts.burst).await;
    let count = counts.burst;
    notes.note_all(&rows::BURST, life.ready);
    // One request of each is the user's.
    notes.note(
        &rows::CREATE_WRITES,
        per(life.created.writes_since(&life.before), count) - 1.0,
    );
    notes.note(
        &rows::DELETE_WRITES,
        per(life.deleted.writes_since(&life.deleting), count) - 1.0,
    );
    let events = life.created.events_since(&life.before) + life.deleted.events_since(&life.deleting);
    notes.note(&rows::EVENTS, per(events, count));
    let millis = |from: &Usage, to: &Usage| per(subject.api_server(from, to) * 1000.0, count);
    notes.note(&rows::CREATE_API_SERVER, millis(&life.before, &life.created));
    notes.note(&rows::DELETE_API_SERVER, millis(&life.deleting, &life.deleted));
    let controller =
        life.created.controller - life.before.controller + life.deleted.controller - life.deleting.controller;
    notes.note(&rows::CONTROLLER, per(controller * 1000.0, count));
    notes.note(
        &rows::CALLS,
        per(f64_of(life.created.calls - life.before.calls), count),
    );
}

async fn claims(subject: &Subject, claimed: &Composite, counts: Counts, notes: &mut Notes<'_>) {
    let board = subject.board(claimed);
    subject.until_no_parts().await;
    let paced = names("paced", counts.paced);
    let before = subject.usage_when_quiet().await;
    let times = create_paced(&board, &paced, PACE, |name| claimed.manifest(name)).await;
    let created = subject.usage_when_quiet().await;
    notes.note_all(&rows::CLAIM_PACED, times);
    notes.note(
        &rows::CLAIM_OWN_PACED_WRITES,
        per(writes_of_claims(&before, &created), counts.paced),
    );
    subject.until_old().await;
    delete(&board, &paced).await;

    let count = counts.claims;
    let life = live(subject, &board, claimed, count).await;
    notes.note_all(&rows::CLAIM_BURST, life.ready);
    notes.note(
        &rows::CLAIM_CREATE_WRITES,
        per(life.created.writes_since(&life.before), count) - 1.0,
    );
    notes.note(
        &rows::CLAIM_OWN_WRITES,
        per(writes_of_claims(&life.before, &life.created), count),
    );
    notes.note(
        &rows::CLAIM_DELETE_WRITES,
        per(life.deleted.writes_since(&life.deleting), count) - 1.0,
    );
    let api_server =
        subject.api_server(&life.before, &life.created) + subject.api_server(&life.deleting, &life.deleted);
    notes.note(&rows::CLAIM_API_SERVER, per(api_server * 1000.0, count));
    if claimed.of == Composed::Managed {
        notes.note(&rows::CLAIM_DRAIN, f64_of(count) / life.drain.as_secs_f64());
    }
}

/// Those of the claims' controller; one request of each is the user's.
fn writes_of_claims(before: &Usage, created: &Usage) -> f64 {
    let came = created.requests_since(before);
    let own: u64 = came
        .iter()
        .filter(|(request, _)| is_of_claim(request))
        .map(|(_, count)| count)
        .sum();
    let users = came.get("POST purchases").copied().unwrap_or_default();
    u32::try_from(own - users).map_or(f64::MAX, f64::from)
}

/// A write of a claim, or by its controller of its composite resource: ours creates that, the peer applies it.
fn is_of_claim(request: &str) -> bool {
    let Some((verb, of)) = request.split_once(' ') else {
        return false;
    };
    let is_write = !["GET", "LIST", "WATCH"].contains(&verb);
    let is_claim = of.starts_with("purchases");
    is_write && (is_claim || (of == "xpurchases" && ["POST", "APPLY"].contains(&verb)))
}

async fn live(subject: &Subject, board: &Board, composite: &Composite, count: usize) -> Life {
    subject.until_no_parts().await;
    let burst = names("burst", count);
    let before = subject.usage_when_quiet().await;
    let ready = create(board, &burst, |name| composite.manifest(name)).await;
    let created = subject.usage_when_quiet().await;
    eprintln!("created {count}: {:?}", created.requests_since(&before));
    subject.until_old().await;
    let deleting = subject.usage().await;
    let begun = Instant::now();
    delete(board, &burst).await;
    subject.until_none_of(composite).await;
    let drain = begun.elapsed();
    let deleted = subject.usage_when_quiet().await;
    eprintln!("deleted {count}: {:?}", deleted.requests_since(&deleting));
    Life {
        before,
        created,
        deleting,
        deleted,
        ready,
        drain,
    }
}

pub(crate) fn f64_of(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
