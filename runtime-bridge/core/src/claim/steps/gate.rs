//! What keeps everything else from being done.

use super::super::{
    facts::Facts,
    outcome::{Flow, NEXT, rest, write_status},
    standing::Standing,
};

pub(in super::super) fn rest_without_authority(of: &Facts) -> Flow {
    if of.snapshot.may_act { NEXT } else { rest(None) }
}

pub(in super::super) fn report_paused(of: &Facts) -> Flow {
    if !of.snapshot.claim.is_paused() {
        return NEXT;
    }
    match write_status(of, Standing::of(of)) {
        NEXT => rest(None),
        written => written,
    }
}
