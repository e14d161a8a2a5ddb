//! What AWS does and moto does not, service by service. Each behavior sees a request before it goes to moto, where it may answer
//! in moto's place, and the answer on its way back, where it may complete it. Pure: state, request and time in, answer out.

mod auth;
mod cloudfront;
mod dynamodb;
mod s3;
mod sqs;

use std::time::Instant;

use http::HeaderMap;

use crate::Options;
use crate::call::Call;
use crate::reply::{AwsError, Reply};
use crate::service::Service;

/// One request, as the behaviors see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) call: &'a Call,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) body: &'a [u8],
    pub(crate) now: Instant,
}

impl Request<'_> {
    fn action(&self) -> &str {
        &self.call.action
    }

    fn text(&self) -> &str {
        std::str::from_utf8(self.body).unwrap_or_default()
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_slice(self.body).unwrap_or_default()
    }
}

/// A response given in place of moto's.
#[derive(Debug)]
pub(crate) enum Interception {
    /// Rejected with this error; moto does not see the call.
    Refuse(AwsError),
    /// Moto does not know this any more, AWS still does.
    Answer(Reply),
}

/// All behaviors, and their state.
#[derive(Debug)]
pub(crate) struct Behaviors {
    options: Options,
    cloudfront: cloudfront::Distributions,
    dynamodb: dynamodb::Tables,
    s3: s3::Buckets,
    sqs: sqs::Queues,
}

impl Behaviors {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            cloudfront: cloudfront::Distributions::new(options.distribution_settles),
            dynamodb: dynamodb::Tables::new(options),
            s3: s3::Buckets::default(),
            sqs: sqs::Queues::new(options.queue_name_rests),
        }
    }

    /// Back to an empty AWS.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(&self.options.clone());
    }

    /// Marks a bucket name as owned by another account.
    pub(crate) fn give_bucket_away(&mut self, name: &str) {
        self.s3.give_away(name);
    }

    /// Whether calls of a service come one at a time: its behavior has state, and its check and moto's work must be one step.
    pub(crate) fn are_serial(service: Service) -> bool {
        matches!(service, Service::CloudFront | Service::DynamoDB | Service::Sqs)
    }

    /// Before moto sees it.
    pub(crate) fn before(&mut self, request: &Request<'_>) -> Option<Interception> {
        match request.call.service {
            Service::CloudFront => self.cloudfront.before(request).map(Interception::Refuse),
            Service::DynamoDB => self.dynamodb.before(request),
            Service::S3 => self.s3.before(request),
            Service::Sqs => self.sqs.before(request).map(Interception::Refuse),
            _ => None,
        }
    }

    /// Before the client sees it.
    pub(crate) fn after(&mut self, request: &Request<'_>, reply: &mut Reply) {
        if !reply.is_success() {
            auth::reword(request.call.service, reply);
            return;
        }
        match request.call.service {
            Service::CloudFront => self.cloudfront.after(request, reply),
            Service::DynamoDB => self.dynamodb.after(request, reply),
            Service::S3 => self.s3.after(request, reply),
            Service::Sqs => self.sqs.after(request, reply),
            _ => {}
        }
    }
}
