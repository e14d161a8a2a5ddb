//! What really exists, asked of moto itself: the ground truth of a test.

use serde_json::{Value, json};

use crate::aws::{Aws, CallError, Credentials, SignedCall};
use crate::xml::Element;

/// One `CloudFront` distribution, as the account lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distribution {
    /// The id, which AWS gives.
    pub id: String,
    /// The ARN, by which it is tagged.
    pub arn: String,
    /// The comment, as it was set last.
    pub comment: String,
    /// Whether it serves; one that does cannot be deleted.
    pub enabled: bool,
}

/// Reads the inventory from moto itself.
#[derive(Debug, Clone)]
pub(crate) struct Inventory {
    pub(crate) aws: Aws,
    pub(crate) who: Credentials,
}

impl Inventory {
    pub(crate) async fn buckets(&self) -> Result<Vec<String>, CallError> {
        let said = self.aws.call(&self.who, SignedCall::get("s3", "/")).await?;
        let root = parse("s3", &said)?;
        let buckets = root.child("Buckets").map_or(&[][..], Element::children);
        Ok(buckets
            .iter()
            .filter_map(|bucket| bucket.child("Name"))
            .map(|name| name.text().to_owned())
            .collect())
    }

    pub(crate) async fn queues(&self, region: &str) -> Result<Vec<String>, CallError> {
        self.names("sqs", region, "AmazonSQS.ListQueues", "QueueUrls")
            .await
    }

    pub(crate) async fn tables(&self, region: &str) -> Result<Vec<String>, CallError> {
        self.names("dynamodb", region, "DynamoDB_20120810.ListTables", "TableNames")
            .await
    }

    pub(crate) async fn distributions(&self) -> Result<Vec<Distribution>, CallError> {
        let said = self
            .aws
            .call(
                &self.who,
                SignedCall::get("cloudfront", "/2020-05-31/distribution?MaxItems=10000"),
            )
            .await?;
        let root = parse("cloudfront", &said)?;
        let summaries = root.child("Items").map_or(&[][..], Element::children);
        let text = |summary: &Element, name: &str| summary.child(name).map_or("", Element::text).to_owned();
        Ok(summaries
            .iter()
            .map(|summary| Distribution {
                id: text(summary, "Id"),
                arn: text(summary, "ARN"),
                comment: text(summary, "Comment"),
                enabled: text(summary, "Enabled") == "true",
            })
            .collect())
    }

    async fn names(
        &self,
        service: &str,
        region: &str,
        target: &str,
        field: &str,
    ) -> Result<Vec<String>, CallError> {
        let said = self
            .aws
            .call(&self.who, SignedCall::json(service, region, target, &json!({})))
            .await?;
        let body: Value = serde_json::from_str(&said).map_err(|_| CallError::Unexpected {
            service: service.to_owned(),
            said: said.clone(),
        })?;
        let names = body[field].as_array().into_iter().flatten();
        Ok(names.filter_map(Value::as_str).map(ToOwned::to_owned).collect())
    }
}

fn parse(service: &str, said: &str) -> Result<Element, CallError> {
    Element::parse(said).ok_or_else(|| CallError::Unexpected {
        service: service.to_owned(),
        said: said.to_owned(),
    })
}
