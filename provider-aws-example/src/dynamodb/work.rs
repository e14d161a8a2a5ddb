//! One call about a table: where it works, how long it may, what it tells.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use crossbridge_sdk::serde_json::{Map, Value};
use crossbridge_sdk::{Call, Failure, Operation, OperationVerb, Outcome};

use super::look::Found;
use super::operation::TableHandle;
use super::state::{self, state};
use super::table::Table;
use crate::ownership::Owner;
use crate::session::{Session, Sessions, region_of};
use crate::upstream::{Refusal, Steps};

/// How often to ask about a table that AWS works on.
const USUAL_PACE: Duration = Duration::from_secs(5);

/// One call about a table.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) call: &'a Call,
    pub(super) session: Arc<Session>,
    pub(super) steps: Steps,
    /// How long to wait between two looks at what is under way.
    pub(super) pace: Duration,
}

impl<'a> Work<'a> {
    /// About a table that is there, or was: where it is known to be, else where the wish has it.
    pub(super) async fn resume(
        sessions: &Sessions,
        call: &'a Call,
        wish: &Map<String, Value>,
    ) -> Result<Self, Failure> {
        let known = state::region(call)?;
        Self::begin(sessions, call, known.as_deref().or(region_of(wish))).await
    }

    pub(super) async fn begin(
        sessions: &Sessions,
        call: &'a Call,
        region: Option<&str>,
    ) -> Result<Self, Failure> {
        let session = sessions.regional(&call.config, region).await?;
        let pace = session.settings.poll_interval(USUAL_PACE)?;
        Ok(Self {
            call,
            session,
            steps: Steps::new(call.deadline),
            pace,
        })
    }

    pub(super) fn client(&self) -> &Client {
        self.session.dynamodb()
    }

    pub(super) fn owner(&self, found: &Found) -> Owner {
        found.tags.owner(&self.call.target)
    }

    /// An operation that goes on.
    pub(super) fn under_way(&self, handle: &TableHandle) -> Outcome<Table> {
        let (phase, message) = match handle.verb() {
            OperationVerb::Create => ("Creating", "AWS is creating the table"),
            OperationVerb::Update => ("Updating", "AWS is updating the table"),
            OperationVerb::Delete => ("Deleting", "AWS is deleting the table"),
        };
        let mut operation = Operation::new(handle.verb(), handle.text())
            .poll_after(self.pace)
            .phase(phase)
            .message(message);
        if handle.details.driven {
            operation = operation.poll_driven();
        }
        Outcome::operation(operation)
            .external_name(&handle.name)
            .provider_state(state(&self.session.region))
    }

    /// AWS is at work on it.
    pub(super) fn busy(&self, found: &Found) -> Failure {
        let message = format!("the table {:?} is {}", found.name, found.doing());
        Failure::conflict(message)
            .reason("TableBusy")
            .retry_after(self.pace)
    }

    /// What AWS does not take just now, told so that it is tried again: it changes only so much at once, in a table and in an account.
    pub(super) fn refused(&self, refusal: Refusal) -> Failure {
        let at_once = refusal.is("LimitExceededException") && refusal.message().contains("simultaneously");
        if at_once || refusal.is("ResourceInUseException") {
            let message = format!("AWS is at work on the table or its likes: {}", refusal.message());
            let busy = Failure::conflict(message).reason("TableBusy");
            return refusal.told_as(busy.retry_after(self.pace));
        }
        refusal.into()
    }

    /// A former table of this name is on its way out.
    pub(super) fn leaving(&self, name: &str) -> Failure {
        let message = format!("a former table {name:?} is still being deleted");
        Failure::dependency_not_ready(message)
            .reason("FormerTableDeleting")
            .retry_after(self.pace)
    }
}
