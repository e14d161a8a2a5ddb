//! What is written, called and used while nothing changes.

use std::time::Duration;

use bridge_bench::{composition_rows as rows, report::Notes, rows::Row};

use super::{
    lives::f64_of,
    manifests::TIMED,
    subject::{Subject, Usage},
};
use crate::user::{create, delete, names};

/// Rows of one TTL.
struct RestRows {
    writes: &'static Row,
    events: &'static Row,
    controller: &'static Row,
    calls: &'static Row,
}

/// While there are XRs that are not to be run again.
pub(crate) async fn without_ttl(subject: &Subject, span: Duration, notes: &mut Notes<'_>) {
    let rows = RestRows {
        writes: &rows::REST_WRITES,
        events: &rows::REST_EVENTS,
        controller: &rows::REST_CONTROLLER,
        calls: &rows::REST_CALLS,
    };
    observe(subject, span, &rows, notes).await;
}

/// While there are XRs with responses that are good for a minute: for longer than that.
pub(crate) async fn with_ttl(subject: &Subject, objects: usize, span: Duration, notes: &mut Notes<'_>) {
    let board = subject.board(&TIMED);
    let timed = names("timed", objects);
    create(&board, &timed, |name| TIMED.manifest(name)).await;
    subject.usage_when_quiet().await;
    let rows = RestRows {
        writes: &rows::TTL_WRITES,
        events: &rows::TTL_EVENTS,
        controller: &rows::TTL_CONTROLLER,
        calls: &rows::TTL_CALLS,
    };
    let hits = "function_run_function_response_cache_hits_total";
    let before = subject.metric(hits).await;
    observe(subject, span, &rows, notes).await;
    let minutes = span.as_secs_f64() / 60.0;
    notes.note(&rows::TTL_HITS, (subject.metric(hits).await - before) / minutes);
    delete(&board, &timed).await;
    subject.until_no_parts().await;
}

async fn observe(subject: &Subject, span: Duration, rows: &RestRows, notes: &mut Notes<'_>) {
    let before = subject.usage().await;
    tokio::time::sleep(span).await;
    let after = subject.usage().await;
    let came = after.requests_since(&before);
    eprintln!("at rest: {came:?}");
    let seconds = after.seconds_since(&before);
    let per_minute = |count: f64| count * 60.0 / seconds;
    notes.note(rows.writes, per_minute(after.writes_since(&before)));
    notes.note(rows.events, per_minute(after.events_since(&before)));
    notes.note(rows.calls, per_minute(f64_of(after.calls - before.calls)));
    notes.note(rows.controller, share(&before, &after, seconds));
}

/// Of a core, in percent.
fn share(before: &Usage, after: &Usage, seconds: f64) -> f64 {
    (after.controller - before.controller) * 100.0 / seconds
}
