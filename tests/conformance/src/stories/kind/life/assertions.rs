//! What a life shows.

use crate::assertion::assertions;

assertions! {
    CREATED = "create/completes", Core, "ResourceService.Create",
        "The example is made: Create ends Completed, at once or by its operation.",
        "Look at the failure that is told; if the example needs something, say so in requires, or give --fixtures.";
    NAMED = "create/name-known-at-the-end", Core, "Outcome.external_name",
        "A creation that is complete has told its name.",
        "Set external_name in the outcome.";
    NAMED_EARLY = "create/name-told-when-known", Core, "Outcome.external_name",
        "An operation that knows the name already tells it.",
        "Set external_name beside the operation: if the handle holds the name, it is known.";
    PROGRESS = "operation/progress-never-falls", Core, "Operation.progress_percent",
        "Progress does not fall from poll to poll.",
        "Leave progress out of what the upstream cannot tell.";
    HANDLE_KEPT = "operation/handle-kept", Core, "Operation.handle",
        "The handle is the same from poll to poll, unless something moved.",
        "Keep times and counters out of the handle: each change costs a write.";
    GARBAGE_HANDLE = "operation/garbage-handle-refused", Core, "PollOperationRequest.handle",
        "A handle that the plugin never gave is INVALID_ARGUMENT.",
        "Check a handle's form, and answer the status INVALID_ARGUMENT that names handle.";
    FOREIGN_HANDLE = "operation/foreign-handle-refused", Core, "PollOperationRequest.handle",
        "A handle of another resource is INVALID_ARGUMENT, or NOT_FOUND by its marker.",
        "Compare the name in the handle with target.external_name where there is one.";
    OTHERS_NOT_POLLED = "operation/others-not-found", Core, "Target.ownership_marker",
        "A poll under another marker is NOT_FOUND.",
        "Read the marker before you answer; only ownership_marker and former_marker are ours.";
    OLD_HANDLES = "operation/old-handles-valid", Core, "Operation.handle",
        "Handles that were given out earlier stay valid.",
        "Where a handle must change, go on reading the former ones.";
    ENDED_STAYS = "operation/ended-answer-stable", Core, "PollOperationResponse.outcome",
        "An operation that has ended gives the same answer at each further poll.",
        "Work the answer out from what is there upstream, not from what this process remembers.";
    EXISTS = "create/exists-afterwards", Core, "KindCapabilities.consistency_window",
        "What was made is found, at the latest when the consistency window has passed.",
        "Complete a creation only when it is there; declare a consistency_window if reads lag behind.";
    WISH_CAME_BACK = "observe/wish-comes-back", Core, "Observation.parameters",
        "Every field that was wished is in what is observed, as it was wished.",
        "Answer in the shape of the wish; give fields that the upstream hides or spells otherwise a comparison rule.";
    BIG_INTEGERS = "observe/big-integers-exact", Core, "Document.json",
        "An integer beyond 2^53 comes back to the last digit.",
        "Read and write JSON with a library that keeps 64-bit integers.";
    PARAMETERS_VALID = "observe/parameters-valid", Core, "Observation.parameters",
        "Observed parameters pass the schema of parameters, and hold no sensitive field.",
        "Answer in the shape of the wish, without nulls.";
    STATUS_VALID = "observe/status-valid", Core, "Observation.status",
        "An observed status passes the schema of status.",
        "Bring status and schema together.";
    COMPARED = "observe/comparison-said", Core, "Observation.up_to_date",
        "up_to_date is said in DIFF_MODE_PLUGIN only, and there always and truly.",
        "Compare with the wish of the request: TRUE after Create, FALSE with diffs for another wish.";
    LOOK_IS_A_LOOK = "observe/changes-nothing", Core, "ResourceService.Observe",
        "Looking again, also with another wish, finds the same.",
        "Observe only reads: no repair, no tag, no counter.";
    MARKER_KEPT = "marker/kept", Core, "KindCapabilities.holds_marker",
        "The ownership marker that was sent is found.",
        "Put it on the resource with the creating request, and read it back into found_marker.";
    MARKER_ASIDE = "marker/not-in-parameters", Core, "Target.ownership_marker",
        "The ownership marker is no part of the observed parameters.",
        "Take your own tag out of what you answer.";
    FOUND_NAMELESS = "observe/found-without-name", Core, "ObserveRequest.target",
        "Where the kind can look without a name, it finds what it made.",
        "Search by ownership_marker, or by the name that the wish gives.";
    NO_OP = "update/same-again-harmless", Core, "ResourceService.Update",
        "An Update to what is there already completes and changes nothing.",
        "Compare before you write, or write what is idempotent.";
    UPDATED = "update/completes", Core, "KindExample.update_parameters",
        "The example's update completes.",
        "Look at the failure that is told.";
    EQUAL_AFTERWARDS = "update/wish-comes-back", Core, "ResourceService.Update",
        "After an Update every field that was wished is observed as it was wished.",
        "Write every field of the wish; changed_paths is only a hint.";
    STALE_ETAG = "update/stale-etag-conflict", Core, "UpdateRequest.etag",
        "An Update with an etag that no longer holds is CONFLICT with EFFECT_NONE.",
        "Hand the etag to the upstream's own condition, or compare it first.";
    OTHERS_NOT_UPDATED = "update/others-not-found", Core, "Target.ownership_marker",
        "An Update under another marker is NOT_FOUND, and changes nothing.",
        "Read the marker before you write; only ownership_marker and former_marker are ours.";
    FORMER = "marker/former-accepted", Core, "Target.former_marker",
        "A resource under the former marker is ours, and the next Update puts the new marker on it.",
        "Accept ownership_marker and former_marker alike; write ownership_marker with each Update.";
    FORMER_FOUND = "marker/former-found-without-name", Core, "Target.former_marker",
        "Where the kind can look by its marker, it finds what bears the former one.",
        "Search by ownership_marker and by former_marker.";
    FORMER_POLLED = "marker/former-polled", Core, "Target.former_marker",
        "An operation of a resource under the former marker is followed.",
        "Accept ownership_marker and former_marker alike.";
    FORMER_DELETED = "marker/former-deleted", Core, "Target.former_marker",
        "A resource under the former marker can be removed.",
        "Accept ownership_marker and former_marker alike.";
    OTHERS_NOT_DELETED = "delete/others-not-found", Core, "ResourceService.Delete",
        "A Delete under another marker is NOT_FOUND with EFFECT_NONE, and removes nothing.",
        "Read the marker before you remove; only ownership_marker and former_marker are ours.";
    STALE_DELETE = "delete/stale-etag-conflict", Core, "DeleteRequest.etag",
        "A Delete with an etag that no longer holds is CONFLICT with EFFECT_NONE, and removes nothing.",
        "Hand the etag to the upstream's own condition, or compare it first.";
    DELETED = "delete/completes", Core, "ResourceService.Delete",
        "Delete ends Completed, at once or by its operation.",
        "Look at the failure that is told.";
    NOTHING_TO_SEE = "delete/no-observation", Core, "Completed.observation",
        "A completed Delete brings no observation.",
        "Leave the observation out.";
    GONE = "delete/absent-afterwards", Core, "ResourceService.Delete",
        "After a completed Delete it reads as absent.",
        "Complete a Delete only when it is gone; hand out an operation until then.";
    NOTHING_DELETED = "delete/nothing-ten-times", Core, "ResourceService.Delete",
        "Deleting what is not there completes, ten times, also without a wish, and says already_done.",
        "Absent already is success: Completed with already_done.";
    UPDATE_MAKES_NONE = "update/absent-not-created", Core, "ResourceService.Update",
        "An Update of what is not there is NOT_FOUND, and makes none.",
        "Look first where the upstream would make one.";
    AGAIN = "delete/then-create", Core, "ResourceService.Create",
        "What was deleted can be made again under the same name.",
        "Complete a Delete only when the name is free again.";
}
