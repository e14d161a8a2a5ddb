//! What is measured of composite resources and claims, and what is to be reached.

use crate::rows::{Goal, KNOWN, NONE, Row, halves, whole};

/// By the controller and the garbage collector, without events.
pub static CREATE_WRITES: Row = Row::one(
    "writes, created to Ready",
    "per XR",
    &whole(Goal::RatioAtMost(0.25)),
);
/// The same from the deletion until all that it made is absent.
pub static DELETE_WRITES: Row = Row::one("writes, deletion", "per XR", KNOWN);
/// Created to Ready, and deletion.
pub static EVENTS: Row = Row::one("writes of events, life", "per XR", KNOWN);
/// Beyond what it uses without any object.
pub static CREATE_API_SERVER: Row = Row::one(
    "API server, created to Ready",
    "CPU-ms per XR",
    &whole(Goal::RatioAtMost(0.35)),
);
/// Beyond what it uses without any object.
pub static DELETE_API_SERVER: Row = Row::one("API server, deletion", "CPU-ms per XR", KNOWN);
/// Of the bridge, or the peer.
pub static CONTROLLER: Row = Row::one("controller, life", "CPU-ms per XR", KNOWN);
/// All at once.
pub static BURST: Row = Row {
    what: "burst: create to Ready",
    unit: "ms",
    lines: &halves(Goal::RatioAtMost(0.1), Goal::None),
};
/// One after another.
pub static PACED: Row = Row {
    what: "5 per s: create to Ready",
    unit: "ms",
    lines: &halves(Goal::BothAtMost(100.0, 0.1), Goal::None),
};
/// As above, of XRs none of which waits for another one.
pub static PACED_WRITES_PARTS: Row = Row::one(
    "5 per s: writes, created to Ready",
    "per XR",
    &whole(Goal::AtMost(6.0)),
);
/// Beside those of an XR of 4 parts, two of each managed resource.
pub static PACED_WRITES_MANAGED: Row = Row::one(
    "5 per s: writes, created to Ready",
    "per XR",
    &whole(Goal::AtMost(14.0)),
);
/// Created to Ready.
pub static CALLS: Row = Row::one("calls of the function, created to Ready", "per XR", KNOWN);

/// By the controller and the garbage collector, without events: of the claim, its XR and what that composes.
pub static CLAIM_CREATE_WRITES: Row = Row::one("writes, created to Ready", "per claim", KNOWN);
/// Those of the claim itself: it, and the creation of its XR. One more is of those that are not Ready within a second, as in a burst.
pub static CLAIM_OWN_WRITES: Row =
    Row::one("writes of the claim's own, created to Ready", "per claim", KNOWN);
/// The same of claims one after another.
pub static CLAIM_OWN_PACED_WRITES: Row = Row::one(
    "5 per s: writes of the claim's own, created to Ready",
    "per claim",
    &whole(Goal::AtMost(3.0)),
);
/// One after another.
pub static CLAIM_PACED: Row = Row {
    what: "5 per s: create to Ready",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// The same from the deletion until all that it made is absent.
pub static CLAIM_DELETE_WRITES: Row = Row::one("writes, deletion", "per claim", KNOWN);
/// Created to Ready and deleted.
pub static CLAIM_API_SERVER: Row = Row::one(
    "API server, life",
    "CPU-ms per claim",
    &whole(Goal::RatioAtMost(0.4)),
);
/// All at once, until no claim, composite resource or managed resource is left.
pub static CLAIM_DRAIN: Row = Row::one(
    "drain, older than 30 s",
    "claims per s",
    &whole(Goal::RatioAtLeast(1.4)),
);
/// All at once.
pub static CLAIM_BURST: Row = Row {
    what: "burst: create to Ready",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};

/// Without any object.
pub static NO_OBJECT_CONTROLLER: Row = Row::one("no object, controller", "CPU-ms per s", KNOWN);
/// Without any object.
pub static NO_OBJECT_API_SERVER: Row = Row::one("no object, API server", "CPU-ms per s", KNOWN);

/// Of all resources but leases, while nothing changes and nothing is to be run again.
pub static REST_WRITES: Row = Row::one("TTL 0: writes", "per min", NONE);
/// Of events.
pub static REST_EVENTS: Row = Row::one("TTL 0: writes of events", "per min", NONE);
/// Of the controller.
pub static REST_CONTROLLER: Row = Row::one("TTL 0: controller", "% of a core", &whole(Goal::AtMost(2.0)));
/// What was called though nothing changed.
pub static REST_CALLS: Row = Row::one("TTL 0: calls of the function", "per min", NONE);
/// Of all resources but leases, while each XR is run again once a minute.
pub static TTL_WRITES: Row = Row::one("TTL 60 s: writes", "per min", NONE);
/// Of events.
pub static TTL_EVENTS: Row = Row::one("TTL 60 s: writes of events", "per min", NONE);
/// Of the controller.
pub static TTL_CONTROLLER: Row = Row::one("TTL 60 s: controller", "% of a core", KNOWN);
/// One per XR and minute, or fewer where a response is still good.
pub static TTL_CALLS: Row = Row::one("TTL 60 s: calls of the function", "per min", KNOWN);

/// Calls that needed none, as the response was still good.
pub static TTL_HITS: Row = Row::one("TTL 60 s: responses from the cache", "per min", KNOWN);

/// Of all XRs at once: for information, as the requests of the user and of the deletions before are in the way.
pub static DELETING_AT_ONCE: Row = Row {
    what: "DELETE to Deleting visible, all at once",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// One after another, from the request until the user's watch shows it.
pub static DELETING: Row = Row {
    what: "DELETE to Deleting visible, 5 per s",
    unit: "ms",
    lines: &halves(Goal::None, Goal::AtMost(1000.0)),
};
/// Of claims, beside the same XRs.
pub static CLAIM_DELETING: Row = Row {
    what: "claims: DELETE to Deleting visible, 5 per s",
    unit: "ms",
    lines: &halves(Goal::None, Goal::AtMost(1000.0)),
};
/// From the deletion of the definition until its CRD is absent.
pub static DRAIN: Row = Row::one(
    "definition deleted, XRs in 20 namespaces: drain",
    "XRs per s",
    &whole(Goal::AtLeast(40.0)),
);
/// Of an XR of 10, without that of the user.
pub static DELETION_WRITES: Row = Row::one("writes, XR of 10 deleted", "per XR", &whole(Goal::AtMost(12.0)));
/// An RN that is no longer desired.
pub static REMOVED_WRITES: Row = Row::one(
    "writes, RN removed, without status",
    "per RN",
    &whole(Goal::AtMost(2.0)),
);
/// Until it is Ready.
pub static USAGE_WRITES: Row = Row::one("writes, Usage made", "per Usage", &whole(Goal::AtMost(3.0)));
/// Until it is absent.
pub static USAGE_GONE_WRITES: Row = Row::one("writes, Usage gone", "per Usage", &whole(Goal::AtMost(2.0)));

/// Of the bridge alone, beyond what it has without any object; 10 objects of each XR are cached, too.
pub static MEMORY: Row = Row::one("memory per XR with its 10", "KB", &whole(Goal::AtMost(61.0)));
/// From the user's change of a composed object until the function is called.
pub static CHANGE: Row = Row {
    what: "composed object changed to run begins",
    unit: "ms",
    lines: &halves(Goal::None, Goal::AtMost(50.0)),
};
/// Likewise of an object that the function requires.
pub static REQUIRED_CHANGE: Row = Row {
    what: "required object changed to run begins",
    unit: "ms",
    lines: &halves(Goal::None, Goal::AtMost(50.0)),
};
/// From its start on, of an XR that was changed while the bridge was stopped.
pub static RESTART_FIRST: Row = Row::one(
    "restart, until a changed XR is Synced",
    "s",
    &whole(Goal::AtMost(5.0)),
);
/// From its start on, until the function was called for each XR.
pub static RESTART_LAST: Row = Row::one(
    "restart, until each XR has been run",
    "s",
    &whole(Goal::AtMost(60.0)),
);
/// Of XRs and what they compose, without those of the XR that was changed.
pub static RESTART_WRITES: Row = Row::one("restart, writes of XRs and composed objects", "", NONE);
/// Of the bridge, until its passes are done.
pub static RESTART_CONTROLLER: Row = Row::one("restart, controller", "CPU-s", KNOWN);
/// Of the API server, until passes are done.
pub static RESTART_API_SERVER: Row = Row::one("restart, API server", "CPU-s", KNOWN);
/// From the edit until the last XR is Synced with what is composed anew.
pub static EDIT: Row = Row::one("composition edited, until the last XR has it", "s", KNOWN);
/// One of ten objects changes, which POST has made.
pub static EDIT_WRITES: Row = Row::one("writes, composition edited", "per XR", KNOWN);

/// From the edit after which it is not desired until it is absent, while what uses lives.
pub static DECOMPOSED: Row = Row {
    what: "usage composed no more, until it is gone",
    unit: "ms",
    lines: &halves(Goal::None, Goal::AtMost(2000.0)),
};
/// From the end of an object until the end of the one that it used: usage, label and object.
pub static STEP: Row = Row {
    what: "deletion, from one object to the next",
    unit: "ms",
    lines: &halves(Goal::AtMost(200.0), Goal::AtMost(5000.0)),
};

/// Of each XR whose deletion is held up, until it is let go, without that of the user.
pub static BLOCKED_WRITES: Row = Row::one("writes, deletion held up", "per XR", &whole(Goal::AtMost(3.0)));
/// Of the controller, once all have said what holds them up.
pub static BLOCKED_CONTROLLER: Row = Row::one(
    "deletions held up, controller",
    "% of a core",
    &whole(Goal::AtMost(2.0)),
);
/// Of the bridge once the first have come and gone, by what it had as it began: what a process takes once, code included.
pub static MEMORY_AFTER_FIRST: Row = Row::one(
    "memory when the first are gone, of a fresh process",
    "%",
    &whole(Goal::None),
);
/// Of the bridge once those are gone whose deletion was held up, by what it had when as many others had been held up and were gone.
pub static BLOCKED_MEMORY: Row = Row::one(
    "memory when all are gone, of that before",
    "%",
    &whole(Goal::AtMost(110.0)),
);

/// One after another, while nothing is in trouble.
pub static WELL: Row = Row {
    what: "5 per s: create to Ready, without trouble",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// The same beside 50 XRs whose function hangs.
pub static BESIDE_HANGING: Row = Row {
    what: "5 per s: create to Ready, beside XRs whose function hangs",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// p99 of that by p99 without.
pub static BESIDE_HANGING_RATIO: Row = Row::one(
    "p99 beside XRs whose function hangs, of that without",
    "",
    &whole(Goal::AtMost(1.2)),
);
/// The same beside 50 XRs that compose a kind that cannot be listed.
pub static BESIDE_UNWATCHED: Row = Row {
    what: "5 per s: create to Ready, beside XRs of a kind that cannot be watched",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// p99 of that by p99 without.
pub static BESIDE_UNWATCHED_RATIO: Row = Row::one(
    "p99 beside XRs of a kind that cannot be watched, of that without",
    "",
    &whole(Goal::AtMost(1.2)),
);

/// From the user's POST until the user's watch shows it Ready.
pub static LARGE_READY: Row = Row::one("create to Ready", "s", &whole(Goal::AtMost(30.0)));
/// Of circuits while it is created.
pub static LARGE_THROTTLED: Row = Row::one("runs held back while it is created", "", NONE);
/// Until it is Synced with that, less what the function has used of a processor.
pub static LARGE_CHANGE: Row = Row::one(
    "composition edited, 1 of 1000 objects changed, less the function's CPU",
    "s",
    &whole(Goal::AtMost(2.0)),
);

/// A dry-run deletion of what is in use, until it is refused.
pub static POLICY_REFUSAL: Row = Row {
    what: "policy: deletion refused",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// The same while the bridge is dead.
pub static POLICY_GONE: Row = Row {
    what: "policy, no bridge: deletion refused",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// A dry-run deletion where nothing refuses any.
pub static UNGUARDED: Row = Row {
    what: "no guard: deletion",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// 16 at the same time.
pub static POLICY_RATE: Row = Row::one("policy: refusals", "per s", KNOWN);
/// A dry-run deletion of what is not in use.
pub static POLICY_FREE: Row = Row {
    what: "policy: deletion of what is not in use",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// A dry-run deletion of what is in use, until it is refused.
pub static WEBHOOK_REFUSAL: Row = Row {
    what: "webhook: deletion refused",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// 16 at the same time.
pub static WEBHOOK_RATE: Row = Row::one("webhook: refusals", "per s", KNOWN);
/// A dry-run deletion of what is not in use.
pub static WEBHOOK_FREE: Row = Row {
    what: "webhook: deletion of what is not in use",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
/// A dry-run deletion of what is in use, while the bridge is dead.
pub static WEBHOOK_GONE: Row = Row {
    what: "webhook, no bridge: deletion refused",
    unit: "ms",
    lines: &halves(Goal::None, Goal::None),
};
