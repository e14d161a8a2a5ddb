//! Bucket names are shared by the whole world: one may be another account's. A bucket is in one region, and only there it
//! answers. Its tags go with it.

use std::collections::{BTreeMap, BTreeSet};

use http::{HeaderValue, StatusCode};

use super::{Interception, Request};
use crate::reply::{AwsError, Reply};
use crate::service::Service;

#[derive(Debug, Default)]
pub(super) struct Buckets {
    elsewhere: BTreeSet<String>,
    regions: BTreeMap<String, String>,
    /// Created, and not tagged since: moto would report the tags of the bucket that had this name before.
    untagged: BTreeSet<String>,
}

impl Buckets {
    pub(super) fn give_away(&mut self, name: &str) {
        self.elsewhere.insert(name.to_owned());
    }

    pub(super) fn before(&mut self, request: &Request<'_>) -> Option<Interception> {
        let bucket = request.call.resource.as_ref()?;
        let creates = request.action() == "CreateBucket";
        if self.elsewhere.contains(bucket) {
            return Some(Interception::Refuse(if creates {
                let message = "The requested bucket name is not available.";
                AwsError::new(StatusCode::CONFLICT, "BucketAlreadyExists", message)
            } else {
                AwsError::new(StatusCode::FORBIDDEN, "AccessDenied", "Access Denied")
            }));
        }
        if request.action() == "GetBucketTagging" && self.untagged.contains(bucket) {
            let message = "The TagSet does not exist";
            return Some(Interception::Refuse(AwsError::new(
                StatusCode::NOT_FOUND,
                "NoSuchTagSet",
                message,
            )));
        }
        let region = self
            .regions
            .get(bucket)
            .filter(|region| **region != request.call.region && !creates)?;
        let message =
            "The bucket you are attempting to access must be addressed using the specified endpoint.";
        let mut reply =
            AwsError::new(StatusCode::MOVED_PERMANENTLY, "PermanentRedirect", message).render(Service::S3);
        if let Ok(region) = HeaderValue::from_str(region) {
            reply.headers.insert("x-amz-bucket-region", region);
        }
        Some(Interception::Answer(reply))
    }

    pub(super) fn after(&mut self, request: &Request<'_>, reply: &mut Reply) {
        let Some(bucket) = request.call.resource.clone() else {
            return;
        };
        match request.action() {
            // Moto gives the element another name where nothing was ever said.
            "GetBucketVersioning" => {
                reply.body = reply
                    .text()
                    .replace("GetBucketVersioningResponse", "VersioningConfiguration")
                    .into();
            }
            "CreateBucket" => {
                // us-east-1 answers so, too, where the bucket exists already: it keeps its tags.
                if reply.status.is_success() && !self.regions.contains_key(&bucket) {
                    self.untagged.insert(bucket.clone());
                }
                self.regions.insert(bucket, request.call.region.clone());
            }
            "PutBucketTagging" => {
                self.untagged.remove(&bucket);
            }
            "DeleteBucket" => {
                self.regions.remove(&bucket);
                self.untagged.remove(&bucket);
            }
            _ => {}
        }
    }
}
