//! Cache behaviors: how requests are answered, by path.

pub(super) mod check;
pub(super) mod convert;
mod forwarded;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use forwarded::ForwardedValues;

/// How requests for some paths are answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderedBehavior {
    /// Which paths, such as images/*.jpg.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) path_pattern: String,
    /// How requests for these paths are answered.
    #[serde(flatten)]
    pub(crate) behavior: Behavior,
}

/// How requests are answered. Caching is by a policy, or by forwardedValues and TTLs, which is the older way; by default a new behavior
/// caches by AWS's own policy `CachingOptimized`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Behavior {
    /// Id of the origin, or of the group of origins, that is asked.
    pub(crate) target_origin_id: String,
    /// Whether viewers may use HTTP.
    #[schemars(extend("enum" = ["allow-all", "https-only", "redirect-to-https"]))]
    pub(crate) viewer_protocol_policy: String,
    /// HTTP methods that are served: GET and HEAD; or these and OPTIONS; or all.
    #[schemars(
        extend("items" = { "type": "string", "enum": ["GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"] }),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub(crate) allowed_methods: Option<Vec<String>>,
    /// HTTP methods whose responses are cached: GET and HEAD; or these and OPTIONS.
    #[schemars(
        extend("items" = { "type": "string", "enum": ["GET", "HEAD", "OPTIONS"] }),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub(crate) cached_methods: Option<Vec<String>>,
    /// Compress what viewers take compressed.
    pub(crate) compress: Option<bool>,
    /// Serve Microsoft Smooth Streaming.
    pub(crate) smooth_streaming: Option<bool>,
    /// Serve gRPC, which needs HTTP/2 and all methods.
    pub(crate) grpc_enabled: Option<bool>,
    /// Id of the cache policy. Empty text: none, but forwardedValues.
    pub(crate) cache_policy_id: Option<String>,
    /// Id of the origin request policy. Empty text: none.
    pub(crate) origin_request_policy_id: Option<String>,
    /// Id of the response headers policy. Empty text: none.
    pub(crate) response_headers_policy_id: Option<String>,
    /// What of a request reaches the origin, and tells responses apart, where there is no cache policy.
    pub(crate) forwarded_values: Option<ForwardedValues>,
    /// How long a response is kept at least, where there is no cache policy.
    #[schemars(range(min = 0))]
    pub(crate) min_ttl_seconds: Option<i64>,
    /// How long a response is kept that says nothing, where there is no cache policy.
    #[schemars(range(min = 0))]
    pub(crate) default_ttl_seconds: Option<i64>,
    /// How long a response is kept at most, where there is no cache policy.
    #[schemars(range(min = 0))]
    pub(crate) max_ttl_seconds: Option<i64>,
    /// CloudFront functions, one per event.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["eventType"]))]
    pub(crate) function_associations: Option<Vec<FunctionAssociation>>,
    /// Lambda functions, one per event.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["eventType"]))]
    pub(crate) lambda_function_associations: Option<Vec<LambdaFunctionAssociation>>,
    /// Ids of the key groups whose signatures viewers need. An empty list: they need none.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) trusted_key_groups: Option<Vec<String>>,
    /// Id of the field-level encryption. Empty text: none.
    pub(crate) field_level_encryption_id: Option<String>,
    /// ARN of the real-time log configuration. Empty text: none.
    pub(crate) realtime_log_config_arn: Option<String>,
}

/// A CloudFront function at an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FunctionAssociation {
    /// The event of a request at which it runs.
    #[schemars(extend("enum" = ["viewer-request", "viewer-response"]))]
    pub(crate) event_type: String,
    /// ARN of the function.
    pub(crate) function_arn: String,
}

/// A Lambda function at an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LambdaFunctionAssociation {
    /// The event of a request at which it runs.
    #[schemars(extend("enum" = ["viewer-request", "viewer-response", "origin-request", "origin-response"]))]
    pub(crate) event_type: String,
    /// ARN of a version of the function, in us-east-1.
    #[schemars(regex(pattern = r"^arn:.+:[0-9]+$"))]
    pub(crate) lambda_function_arn: String,
    /// Whether it sees the body of requests.
    pub(crate) include_body: Option<bool>,
}

impl Behavior {
    /// Whether the desired caching is by forwardedValues and TTLs.
    fn is_legacy(&self) -> bool {
        self.forwarded_values.is_some()
            || self.min_ttl_seconds.is_some()
            || self.default_ttl_seconds.is_some()
            || self.max_ttl_seconds.is_some()
            || self.cache_policy_id.as_deref() == Some("")
    }
}
