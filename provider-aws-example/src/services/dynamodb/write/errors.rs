//! Errors that AWS answers with while it works on a table: they pass by themselves.

use crossbridge_sdk::Failure;

use crate::api::ApiError;
use crate::context::CallContext;
use crate::services::dynamodb::read::ObservedTable;

/// The failure for an error of a write. AWS runs only so many changes at once in a table and in an account: such an error is retried.
pub(in crate::services::dynamodb) fn explain(context: &CallContext<'_>, error: ApiError) -> Failure {
    let is_concurrency_limit =
        error.has_code("LimitExceededException") && error.message().contains("simultaneously");
    if is_concurrency_limit || error.has_code("ResourceInUseException") {
        let message = format!("AWS is changing this table or others: {}", error.message());
        let busy = Failure::conflict(message).reason("TableBusy");
        return error.into_failure(busy.retry_after(context.poll_interval));
    }
    error.into()
}

/// AWS is changing the table already.
pub(super) fn table_busy(context: &CallContext<'_>, observed: &ObservedTable) -> Failure {
    let message = format!("the table {:?} is {}", observed.name, observed.status_text());
    Failure::conflict(message)
        .reason("TableBusy")
        .retry_after(context.poll_interval)
}

/// The name is not free yet.
pub(in crate::services::dynamodb) fn former_table_deleting(context: &CallContext<'_>, name: &str) -> Failure {
    let message = format!("a former table {name:?} is still being deleted");
    Failure::dependency_not_ready(message)
        .reason("FormerTableDeleting")
        .retry_after(context.poll_interval)
}
