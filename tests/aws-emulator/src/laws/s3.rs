//! Bucket names are shared by the whole world: one may be another account's.

use std::collections::BTreeSet;

use http::StatusCode;

use super::Request;
use crate::reply::AwsError;

#[derive(Debug, Default)]
pub(super) struct Buckets {
    elsewhere: BTreeSet<String>,
}

impl Buckets {
    pub(super) fn give_away(&mut self, name: &str) {
        self.elsewhere.insert(name.to_owned());
    }

    pub(super) fn before(&mut self, request: &Request<'_>) -> Option<AwsError> {
        let bucket = request.call.resource.as_ref()?;
        if !self.elsewhere.contains(bucket) {
            return None;
        }
        Some(match request.action() {
            "CreateBucket" => AwsError::new(
                StatusCode::CONFLICT,
                "BucketAlreadyExists",
                "The requested bucket name is not available.",
            ),
            _ => AwsError::new(StatusCode::FORBIDDEN, "AccessDenied", "Access Denied"),
        })
    }
}
