//! What a lifecycle shows.

use crate::assertion::assertions;

assertions! {
    CREATED = "create/completes", Core, "ResourceService.Create",
        "The example is created: Create ends Completed, at once or by its operation.",
        "Check the reported failure; if the example depends on another one, list it in requires, or give --fixtures.";
    NAME_REPORTED = "create/name-reported-on-completion", Core, "Outcome.external_name",
        "A completed creation has reported its name.",
        "Set external_name in the outcome.";
    NAME_REPORTED_WHEN_KNOWN = "create/name-reported-when-known", Core, "Outcome.external_name",
        "An operation whose name is known reports it.",
        "Set external_name beside the operation: if the handle holds the name, it is known.";
    PROGRESS = "operation/progress-monotonic", Core, "Operation.progress_percent",
        "Progress does not decrease from poll to poll.",
        "Leave progress out of what the upstream cannot report.";
    HANDLE_STABLE = "operation/handle-stable", Core, "Operation.handle",
        "The handle is the same from poll to poll, unless the operation progressed.",
        "Keep times and counters out of the handle: each change costs a write.";
    UNKNOWN_HANDLE = "operation/unknown-handle-rejected", Core, "PollOperationRequest.handle",
        "A handle that the plugin did not issue is INVALID_ARGUMENT.",
        "Check a handle's form, and return the status INVALID_ARGUMENT that names handle.";
    FOREIGN_HANDLE = "operation/foreign-handle-rejected", Core, "PollOperationRequest.handle",
        "A handle of another resource is INVALID_ARGUMENT, or NOT_FOUND by its marker.",
        "Compare the name in the handle with target.external_name where there is one.";
    FOREIGN_NOT_POLLED = "operation/foreign-marker-not-found", Core, "Target.ownership_marker",
        "A poll under another marker is NOT_FOUND.",
        "Read the marker before you respond; only ownership_marker and former_marker belong to the owner.";
    OLD_HANDLES = "operation/old-handles-valid", Core, "Operation.handle",
        "Handles that were issued earlier stay valid.",
        "Where a handle must change, continue to accept the former ones.";
    TERMINAL_RESPONSE_STABLE = "operation/terminal-response-stable", Core, "PollOperationResponse.outcome",
        "An operation that has ended gives the same response to each further poll.",
        "Derive the response from what exists upstream, not from the memory of this process.";
    EXISTS = "create/exists-after-completion", Core, "KindCapabilities.consistency_window",
        "What was created is found, at the latest when the consistency window has passed.",
        "Complete a creation only when it exists; declare a consistency_window if reads lag behind.";
    MATCHES_DESIRED = "observe/matches-desired-state", Core, "Observation.parameters",
        "Every desired field is observed with its desired value.",
        "Return the shape of the desired state; give fields that the upstream hides or spells otherwise a comparison rule.";
    BIG_INTEGERS = "observe/big-integers-exact", Core, "Document.json",
        "An integer beyond 2^53 is observed to the last digit.",
        "Read and write JSON with a library that keeps 64-bit integers.";
    PARAMETERS_VALID = "observe/parameters-valid", Core, "Observation.parameters",
        "Observed parameters pass the schema of parameters, and hold no sensitive field.",
        "Return the shape of the desired state, without nulls.";
    STATUS_VALID = "observe/status-valid", Core, "Observation.status",
        "An observed status passes the schema of status.",
        "Make status and schema agree.";
    COMPARISON_REPORTED = "observe/comparison-reported", Core, "Observation.up_to_date",
        "up_to_date is reported in DIFF_MODE_PLUGIN only, and there always and correctly.",
        "Compare with the desired state of the request: TRUE after Create, FALSE with diffs for another desired state.";
    READ_ONLY = "observe/read-only", Core, "ResourceService.Observe",
        "Repeated observations, also with another desired state, find the same.",
        "Observe only reads: no repair, no tag, no counter.";
    MARKER_KEPT = "marker/kept", Core, "KindCapabilities.holds_marker",
        "The ownership marker that was sent is found.",
        "Put it on the resource with the creating request, and read it back into found_marker.";
    MARKER_NOT_IN_PARAMETERS = "marker/not-in-parameters", Core, "Target.ownership_marker",
        "The ownership marker is not part of the observed parameters.",
        "Take your own tag out of the response.";
    FOUND_WITHOUT_NAME = "observe/found-without-name", Core, "ObserveRequest.target",
        "Where the kind can be observed without a name, Observe finds what was created.",
        "Search by ownership_marker, or by the name that the desired state gives.";
    NO_OP = "update/no-op-harmless", Core, "ResourceService.Update",
        "An Update to what exists already completes and changes nothing.",
        "Compare before you write, or write what is idempotent.";
    UPDATED = "update/completes", Core, "KindExample.update_parameters",
        "The example's update completes.",
        "Check the reported failure.";
    UPDATE_MATCHES_DESIRED = "update/matches-desired-state", Core, "ResourceService.Update",
        "After an Update every desired field is observed with its desired value.",
        "Write every field of the desired state; changed_paths is only a hint.";
    STALE_ETAG = "update/stale-etag-conflict", Core, "UpdateRequest.etag",
        "An Update with an etag that no longer holds is CONFLICT with EFFECT_NONE.",
        "Hand the etag to the upstream's own condition, or compare it first.";
    FOREIGN_NOT_UPDATED = "update/foreign-marker-not-found", Core, "Target.ownership_marker",
        "An Update under another marker is NOT_FOUND, and changes nothing.",
        "Read the marker before you write; only ownership_marker and former_marker belong to the owner.";
    FORMER = "marker/former-accepted", Core, "Target.former_marker",
        "A resource under the former marker is accepted as owned, and the next Update replaces the marker.",
        "Accept ownership_marker and former_marker alike; write ownership_marker with each Update.";
    FORMER_FOUND = "marker/former-found-without-name", Core, "Target.former_marker",
        "Where the kind finds by marker, it also finds a resource with the former one.",
        "Search by ownership_marker and by former_marker.";
    FORMER_POLLED = "marker/former-polled", Core, "Target.former_marker",
        "An operation of a resource under the former marker is followed.",
        "Accept ownership_marker and former_marker alike.";
    FORMER_DELETED = "marker/former-deleted", Core, "Target.former_marker",
        "A resource under the former marker can be removed.",
        "Accept ownership_marker and former_marker alike.";
    FOREIGN_NOT_DELETED = "delete/foreign-marker-not-found", Core, "ResourceService.Delete",
        "A Delete under another marker is NOT_FOUND with EFFECT_NONE, and removes nothing.",
        "Read the marker before you remove; only ownership_marker and former_marker belong to the owner.";
    STALE_DELETE = "delete/stale-etag-conflict", Core, "DeleteRequest.etag",
        "A Delete with an etag that no longer holds is CONFLICT with EFFECT_NONE, and removes nothing.",
        "Hand the etag to the upstream's own condition, or compare it first.";
    DELETED = "delete/completes", Core, "ResourceService.Delete",
        "Delete ends Completed, at once or by its operation.",
        "Check the reported failure.";
    NO_OBSERVATION = "delete/no-observation", Core, "Completed.observation",
        "A completed Delete has no observation.",
        "Leave the observation out.";
    ABSENT_AFTER_DELETE = "delete/absent-after-completion", Core, "ResourceService.Delete",
        "After a completed Delete the resource reads as absent.",
        "Complete a Delete only when the resource no longer exists; return an operation until then.";
    DELETE_IDEMPOTENT = "delete/absent-idempotent", Core, "ResourceService.Delete",
        "Deleting what does not exist completes, ten times, also without a desired state, and reports already_done.",
        "Absent already is success: Completed with already_done.";
    UPDATE_CREATES_NONE = "update/absent-not-created", Core, "ResourceService.Update",
        "An Update of what does not exist is NOT_FOUND, and creates nothing.",
        "Check for existence first where the upstream would create one.";
    RECREATED = "delete/allows-recreation", Core, "ResourceService.Create",
        "What was deleted can be created again under the same name.",
        "Complete a Delete only when the name is free again.";
}
