//! Operations and their handles.

use super::{
    assertions::{
        ENDED_STAYS, FOREIGN_HANDLE, FORMER_POLLED, GARBAGE_HANDLE, HANDLE_KEPT, OLD_HANDLES,
        OTHERS_NOT_POLLED, PROGRESS,
    },
    judge,
};
use crate::{
    client::told,
    lab::{Lab, Thing, Trail, new_marker},
    verdict::Stop,
};

/// The course of an operation.
pub(super) fn course(lab: &Lab, trail: &Trail) {
    let bench = &lab.bench;
    if trail.handles().is_empty() {
        for assertion in [PROGRESS, HANDLE_KEPT] {
            bench.not_applicable(assertion, "it was done at once");
        }
    } else {
        bench.judge(PROGRESS, judge::progress_never_falls(trail));
        bench.judge(HANDLE_KEPT, judge::handle_kept(trail));
    }
}

/// Handles that the plugin never gave.
pub(super) async fn garbage(lab: &Lab, thing: &Thing, trail: &Trail) {
    let hands_out = !trail.handles().is_empty();
    for garbage in ["garbage", "{\"v\":9}", "\u{7}"] {
        let poll = thing.poll(garbage);
        let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
        lab.bench
            .judge(GARBAGE_HANDLE, judge::garbage_refused(answer, hands_out));
    }
}

/// Every handle that was given out, polled again after the end.
pub(super) async fn old(lab: &Lab, thing: &Thing, trail: &Trail) {
    let handles = trail.handles();
    if handles.is_empty() {
        for assertion in [OLD_HANDLES, ENDED_STAYS] {
            lab.bench.not_applicable(assertion, "it was done at once");
        }
    }
    for handle in handles {
        let poll = thing.poll(handle);
        let answer = lab.bench.client.poll_operation(poll, lab.terms()).await;
        lab.bench.judge(OLD_HANDLES, judge::handle_good(&answer));
        lab.bench.judge(ENDED_STAYS, judge::ended_the_same(trail, answer));
    }
}

/// A handle of this resource's, polled as another's, and under another marker and the former one.
pub(super) async fn others(lab: &Lab, thing: &Thing, trail: &Trail) -> Result<(), Stop> {
    let bench = &lab.bench;
    let handles = trail.handles();
    let Some(handle) = handles.last() else {
        for assertion in [FOREIGN_HANDLE, OTHERS_NOT_POLLED, FORMER_POLLED] {
            bench.not_applicable(assertion, "it was done at once");
        }
        return Ok(());
    };
    let poll = |thing: &Thing| bench.client.poll_operation(thing.poll(handle), lab.terms());
    let other = thing.clone().named(&lab.fresh_name("")?);
    bench.judge(FOREIGN_HANDLE, judge::not_shown(poll(&other).await));
    if !lab.kind.capabilities.holds_marker {
        for assertion in [OTHERS_NOT_POLLED, FORMER_POLLED] {
            bench.not_applicable(assertion, "the kind holds no marker");
        }
        return Ok(());
    }
    let marker = new_marker();
    let answer = poll(&thing.clone().marked(&marker)).await;
    bench.judge(
        OTHERS_NOT_POLLED,
        match answer {
            Ok(answer) => judge::not_there(&answer).map_err(|seen| format!("NOT_FOUND is due; {seen}")),
            Err(status) => Err(format!("Failure NOT_FOUND is due; it ended in {}", told(&status))),
        },
    );
    let answer = poll(&thing.clone().restored(&marker)).await;
    bench.judge(FORMER_POLLED, judge::handle_good(&answer));
    Ok(())
}
