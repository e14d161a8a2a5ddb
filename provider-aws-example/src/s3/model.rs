//! The types of a bucket.

use crossbridge_sdk::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ownership::{self, Tags};
use crate::violations::Violations;

/// An S3 bucket.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BucketParameters {
    /// AWS region, if it is not the provider config's.
    pub(crate) region: Option<String>,
    /// Tags of the bucket; all of them. Left out, those that are there stay.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub(crate) tags: Option<Tags>,
    /// Whether former versions of objects are kept. A bucket that was ever versioned can only be suspended.
    #[schemars(extend("enum" = ["Enabled", "Suspended"]))]
    pub(crate) versioning: Option<String>,
    /// How new objects are encrypted. Left out, AWS encrypts with keys of its own.
    pub(crate) encryption: Option<Encryption>,
    /// Keeps the bucket from being made public by mistake.
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    /// Who owns objects, and whether ACLs count.
    #[schemars(extend("enum" = ["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"]))]
    pub(crate) object_ownership: Option<String>,
    /// Lets objects be locked against deletion; only when the bucket is made. Locked buckets are versioned.
    pub(crate) object_lock_enabled: Option<bool>,
    /// The bucket policy, as JSON text. Empty text removes it.
    pub(crate) policy: Option<String>,
}

/// How new objects are encrypted.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Encryption {
    /// AES256: keys of S3. aws:kms and aws:kms:dsse: keys of KMS.
    #[schemars(extend("enum" = ["AES256", "aws:kms", "aws:kms:dsse"]))]
    pub(crate) algorithm: String,
    /// Id, ARN or alias of the KMS key. Left out where KMS is new, AWS's own key for S3.
    pub(crate) kms_key_id: Option<String>,
    /// One KMS request for many objects.
    pub(crate) bucket_key_enabled: Option<bool>,
}

impl Encryption {
    /// The wish over what was found: S3 takes it whole, and the key that is in use is not given up for a wish that names none.
    pub(super) fn over(self, found: Option<&Self>) -> Self {
        let Some(found) = found.filter(|found| found.algorithm == self.algorithm) else {
            return self;
        };
        Self {
            kms_key_id: self.kms_key_id.or_else(|| found.kms_key_id.clone()),
            bucket_key_enabled: self.bucket_key_enabled.or(found.bucket_key_enabled),
            ..self
        }
    }
}

/// Keeps a bucket from being made public. What is left out stays as it is.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PublicAccessBlock {
    /// Refuse new public ACLs.
    pub(crate) block_public_acls: Option<bool>,
    /// Ignore public ACLs.
    pub(crate) ignore_public_acls: Option<bool>,
    /// Refuse public policies.
    pub(crate) block_public_policy: Option<bool>,
    /// Serve a bucket with a public policy to AWS services and the owner only.
    pub(crate) restrict_public_buckets: Option<bool>,
}

impl PublicAccessBlock {
    /// What was found, changed as wished.
    pub(super) fn over(self, found: Self) -> Self {
        Self {
            block_public_acls: self.block_public_acls.or(found.block_public_acls),
            ignore_public_acls: self.ignore_public_acls.or(found.ignore_public_acls),
            block_public_policy: self.block_public_policy.or(found.block_public_policy),
            restrict_public_buckets: self.restrict_public_buckets.or(found.restrict_public_buckets),
        }
    }
}

/// What is known of a bucket.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BucketStatus {
    /// ARN of the bucket.
    pub(crate) arn: String,
    /// AWS region that it is in.
    pub(crate) region: String,
    /// Domain name that works from everywhere.
    pub(crate) domain_name: String,
    /// Domain name of its region: the better origin for CloudFront.
    pub(crate) regional_domain_name: String,
}

impl BucketParameters {
    /// What the schema cannot say.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut violations = Violations::default();
        ownership::check(self.tags.as_ref(), &mut violations);
        violations.add_unless_policy("/policy", self.policy.as_deref());
        if let Some(encryption) = &self.encryption {
            let is_kms = encryption.algorithm.starts_with("aws:kms");
            violations.add_if(
                encryption.kms_key_id.is_some() && !is_kms,
                "/encryption/kmsKeyId",
                "a KMS key goes with the algorithms aws:kms and aws:kms:dsse only",
            );
            violations.add_if(
                encryption.bucket_key_enabled == Some(true) && encryption.algorithm != "aws:kms",
                "/encryption/bucketKeyEnabled",
                "a bucket key goes with the algorithm aws:kms only",
            );
        }
        violations.add_if(
            self.object_lock_enabled == Some(true) && self.versioning.as_deref() == Some("Suspended"),
            "/versioning",
            "a bucket whose objects can be locked is versioned",
        );
        violations.into_result()
    }
}
