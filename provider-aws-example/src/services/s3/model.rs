//! The types of a bucket.

use crossbridge_sdk::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tags::{self, Tags};
use crate::validation::Violations;

/// An S3 bucket.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BucketParameters {
    /// AWS region; defaults to the region of the ProviderConfig.
    pub(crate) region: Option<String>,
    /// All tags of the bucket. If omitted, existing tags are kept.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub(crate) tags: Option<Tags>,
    /// Whether former versions of objects are kept. A bucket that was ever versioned can only be suspended.
    #[schemars(extend("enum" = ["Enabled", "Suspended"]))]
    pub(crate) versioning: Option<String>,
    /// How new objects are encrypted. If omitted, AWS encrypts with keys of its own.
    pub(crate) encryption: Option<Encryption>,
    /// Keeps the bucket from being made public by mistake.
    pub(crate) public_access_block: Option<PublicAccessBlock>,
    /// Who owns objects, and whether ACLs count.
    #[schemars(extend("enum" = ["BucketOwnerEnforced", "BucketOwnerPreferred", "ObjectWriter"]))]
    pub(crate) object_ownership: Option<String>,
    /// Lets objects be locked against deletion; only at creation. Locked buckets are versioned.
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
    /// Id, ARN or alias of the KMS key. If omitted when KMS comes into use, AWS's own key for S3.
    pub(crate) kms_key_id: Option<String>,
    /// Whether a bucket key saves KMS requests.
    pub(crate) bucket_key_enabled: Option<bool>,
}

impl Encryption {
    /// Completes the desired encryption with the observed one: S3 replaces the whole, and a desired state without a key keeps the key in use.
    pub(super) fn merged_over(self, observed: Option<&Self>) -> Self {
        let Some(observed) = observed.filter(|observed| observed.algorithm == self.algorithm) else {
            return self;
        };
        Self {
            kms_key_id: self.kms_key_id.or_else(|| observed.kms_key_id.clone()),
            bucket_key_enabled: self.bucket_key_enabled.or(observed.bucket_key_enabled),
            ..self
        }
    }
}

/// Keeps a bucket from being made public. Omitted fields stay as they are.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PublicAccessBlock {
    /// Refuse new public ACLs.
    pub(crate) block_public_acls: Option<bool>,
    /// Ignore public ACLs, existing ones included.
    pub(crate) ignore_public_acls: Option<bool>,
    /// Refuse new policies that grant public access.
    pub(crate) block_public_policy: Option<bool>,
    /// Serve a bucket with a public policy to AWS services and the owner only.
    pub(crate) restrict_public_buckets: Option<bool>,
}

impl PublicAccessBlock {
    /// The observed settings, changed to the desired ones.
    pub(super) fn merged_over(self, observed: Self) -> Self {
        Self {
            block_public_acls: self.block_public_acls.or(observed.block_public_acls),
            ignore_public_acls: self.ignore_public_acls.or(observed.ignore_public_acls),
            block_public_policy: self.block_public_policy.or(observed.block_public_policy),
            restrict_public_buckets: self.restrict_public_buckets.or(observed.restrict_public_buckets),
        }
    }
}

/// The observed state of a bucket that is no parameter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BucketStatus {
    /// ARN of the bucket.
    pub(crate) arn: String,
    /// AWS region of the bucket.
    pub(crate) region: String,
    /// Domain name that works from everywhere.
    pub(crate) domain_name: String,
    /// Domain name of its region: the better origin for CloudFront.
    pub(crate) regional_domain_name: String,
}

impl BucketParameters {
    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// `INVALID_SPEC` that names every invalid field.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let mut violations = Violations::default();
        tags::check(self.tags.as_ref(), &mut violations);
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
