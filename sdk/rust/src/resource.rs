//! The one trait that a kind implements.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Call, ConfigCall, Create, Delete, Failure, Kind, Known, List, Listed, Observed, Outcome, Poll, Update,
    document::Documents,
};

/// One kind of external resource.
///
/// The types carry the documents: their serde form is the user's YAML, their JSON Schema becomes the CRD, their doc comments become
/// `kubectl explain`. Parameters that have no opinion are `Option`s; a sensitive field is one too, and stays `None`: read it with
/// [`Desired::sensitive`](crate::Desired::sensitive).
///
/// Nothing is kept between two calls that the next one cannot do without: it may reach another replica.
/// When a call's deadline passes its future is dropped.
#[async_trait]
pub trait Resource: Send + Sync + Sized + 'static {
    /// The desired parameters, and what [`Observation`](crate::Observation) compares it with.
    type Parameters: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// What is only observed: `status.atProvider`.
    type Status: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// Names, rules and capabilities.
    fn kind() -> Kind;

    /// Reads the external resource. Changes nothing. A failed read is a [`Failure`], never [`Observed::absent`].
    ///
    /// [`Target::external_name`](crate::Target::external_name) is empty only for kinds that can be observed without one: derived
    /// names, and recovery by marker.
    async fn observe(
        &self,
        call: &Call,
        desired: &Known<Self::Parameters>,
    ) -> Result<Observed<Self>, Failure>;

    /// Creates it, or returns an [`Operation`](crate::Operation) that will. Never takes over what exists.
    ///
    /// As soon as the upstream has given a name, record it with [`Call::record_name`]: the answer then carries it, however
    /// the call ends.
    async fn create(&self, call: &Call, create: &Create<Self::Parameters>) -> Result<Outcome<Self>, Failure>;

    /// Changes it in place. Never creates one: absent is [`Failure::not_found`].
    async fn update(&self, call: &Call, update: &Update<Self::Parameters>) -> Result<Outcome<Self>, Failure>;

    /// Removes it. Absent already is [`Outcome::already_done`].
    async fn delete(&self, call: &Call, delete: &Delete<Self::Parameters>) -> Result<Outcome<Self>, Failure>;

    /// Where has an operation got to? Needed only by kinds that hand out operations.
    async fn poll(&self, _call: &Call, _poll: &Poll<Self::Parameters>) -> Result<Outcome<Self>, Failure> {
        Err(Failure::unimplemented())
    }

    /// One page of what exists. Served only for a kind that is [`Kind::listable`].
    async fn list(&self, _call: &ConfigCall, _list: &List) -> Result<Listed<Self>, Failure> {
        Err(Failure::unimplemented())
    }
}

impl<R: Resource> Documents for R {
    type Parameters = R::Parameters;
    type Status = R::Status;
}
