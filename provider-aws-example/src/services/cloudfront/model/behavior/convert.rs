//! Behaviors in the types of the API: two types with the same fields, of which one has a path as well.

#![allow(deprecated)] // AWS advises against caching without a policy, and still serves it.

use aws_sdk_cloudfront::types as aws;

use super::{Behavior, FunctionAssociation, LambdaFunctionAssociation, OrderedBehavior, forwarded};
use crate::services::cloudfront::model::lists::{Built, items, members, put, put_text, quantity, text};

/// AWS's own cache policy for content that does not depend on the viewer.
const CACHING_OPTIMIZED: &str = "658327ea-f89d-4fab-a63d-7439e55408e1";

/// The fields that both types have.
struct Fields<'a> {
    target_origin_id: &'a mut String,
    viewer_protocol_policy: &'a mut aws::ViewerProtocolPolicy,
    allowed_methods: &'a mut Option<aws::AllowedMethods>,
    compress: &'a mut Option<bool>,
    smooth_streaming: &'a mut Option<bool>,
    grpc_config: &'a mut Option<aws::GrpcConfig>,
    cache_policy_id: &'a mut Option<String>,
    origin_request_policy_id: &'a mut Option<String>,
    response_headers_policy_id: &'a mut Option<String>,
    forwarded_values: &'a mut Option<aws::ForwardedValues>,
    min_ttl: &'a mut Option<i64>,
    default_ttl: &'a mut Option<i64>,
    max_ttl: &'a mut Option<i64>,
    function_associations: &'a mut Option<aws::FunctionAssociations>,
    lambda_function_associations: &'a mut Option<aws::LambdaFunctionAssociations>,
    trusted_key_groups: &'a mut Option<aws::TrustedKeyGroups>,
    field_level_encryption_id: &'a mut Option<String>,
    realtime_log_config_arn: &'a mut Option<String>,
}

macro_rules! fields {
    ($behavior:expr; $($name:ident)*) => { Fields { $($name: &mut $behavior.$name),* } };
    ($behavior:expr) => {
        fields!($behavior;
            target_origin_id viewer_protocol_policy allowed_methods compress smooth_streaming grpc_config
            cache_policy_id origin_request_policy_id response_headers_policy_id forwarded_values min_ttl
            default_ttl max_ttl function_associations lambda_function_associations trusted_key_groups
            field_level_encryption_id realtime_log_config_arn)
    };
}

/// The current default behavior with the desired values.
pub(in crate::services::cloudfront) fn default_over(
    current: Option<aws::DefaultCacheBehavior>,
    desired: &Behavior,
) -> Built<aws::DefaultCacheBehavior> {
    let mut behavior = match current {
        Some(behavior) => behavior,
        None => aws::DefaultCacheBehavior::builder()
            .target_origin_id(&desired.target_origin_id)
            .viewer_protocol_policy(desired.viewer_protocol_policy.as_str().into())
            .build()?,
    };
    merge(desired, &mut fields!(behavior))?;
    Ok(behavior)
}

/// The desired behaviors in their order, each with the values of the current one of its path.
pub(in crate::services::cloudfront) fn ordered_over(
    current: Option<aws::CacheBehaviors>,
    desired: &[OrderedBehavior],
) -> Built<aws::CacheBehaviors> {
    let mut current = current.and_then(|behaviors| behaviors.items).unwrap_or_default();
    let mut items = Vec::new();
    for OrderedBehavior {
        path_pattern,
        behavior: desired,
    } in desired
    {
        let known = current
            .iter()
            .position(|behavior| behavior.path_pattern == *path_pattern);
        let mut behavior = match known {
            Some(known) => current.remove(known),
            None => aws::CacheBehavior::builder()
                .path_pattern(path_pattern)
                .target_origin_id(&desired.target_origin_id)
                .viewer_protocol_policy(desired.viewer_protocol_policy.as_str().into())
                .build()?,
        };
        merge(desired, &mut fields!(behavior))?;
        items.push(behavior);
    }
    let quantity = quantity(&items);
    let items = (!items.is_empty()).then_some(items);
    aws::CacheBehaviors::builder()
        .quantity(quantity)
        .set_items(items)
        .build()
}

fn merge(desired: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    to.target_origin_id.clone_from(&desired.target_origin_id);
    *to.viewer_protocol_policy = desired.viewer_protocol_policy.as_str().into();
    methods_over(desired, to)?;
    put(to.compress, desired.compress);
    put(to.smooth_streaming, desired.smooth_streaming);
    if let Some(enabled) = desired.grpc_enabled {
        *to.grpc_config = Some(aws::GrpcConfig::builder().enabled(enabled).build()?);
    }
    caching_over(desired, to)?;
    put_text(
        to.origin_request_policy_id,
        desired.origin_request_policy_id.as_ref(),
    );
    put_text(
        to.response_headers_policy_id,
        desired.response_headers_policy_id.as_ref(),
    );
    put_text(
        to.field_level_encryption_id,
        desired.field_level_encryption_id.as_ref(),
    );
    put_text(
        to.realtime_log_config_arn,
        desired.realtime_log_config_arn.as_ref(),
    );
    if let Some(groups) = &desired.trusted_key_groups {
        let current = to
            .trusted_key_groups
            .take()
            .and_then(|groups| groups.items)
            .unwrap_or_default();
        let items = members(groups.clone(), current);
        let enabled = !items.is_empty();
        let groups = aws::TrustedKeyGroups::builder()
            .enabled(enabled)
            .quantity(quantity(&items));
        *to.trusted_key_groups = Some(groups.set_items(enabled.then_some(items)).build()?);
    }
    functions_over(desired, to)
}

/// AWS keeps the cached methods within the allowed ones.
fn methods_over(desired: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    if desired.allowed_methods.is_none() && desired.cached_methods.is_none() {
        return Ok(());
    }
    let methods = |names: &[&str]| {
        names
            .iter()
            .map(|name| aws::Method::from(*name))
            .collect::<Vec<_>>()
    };
    let desired_methods = |names: &[String]| {
        names
            .iter()
            .map(|name| aws::Method::from(name.as_str()))
            .collect()
    };
    let (allowed, cached) = match to.allowed_methods.take() {
        Some(current) => (current.items, current.cached_methods.map(|cached| cached.items)),
        None => (methods(&["HEAD", "GET"]), None),
    };
    let allowed = match &desired.allowed_methods {
        Some(desired) => members(desired_methods(desired), allowed),
        None => allowed,
    };
    let cached = cached.unwrap_or_else(|| methods(&["HEAD", "GET"]));
    let cached = match &desired.cached_methods {
        Some(desired) => members(desired_methods(desired), cached),
        None => cached
            .into_iter()
            .filter(|method| allowed.contains(method))
            .collect(),
    };
    let cached = aws::CachedMethods::builder()
        .quantity(quantity(&cached))
        .set_items(Some(cached))
        .build()?;
    let allowed = aws::AllowedMethods::builder()
        .quantity(quantity(&allowed))
        .set_items(Some(allowed));
    *to.allowed_methods = Some(allowed.cached_methods(cached).build()?);
    Ok(())
}

/// A cache policy and the older way exclude each other.
fn caching_over(desired: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    let has_policy = to.cache_policy_id.as_ref().is_some_and(|id| !id.is_empty());
    if desired.is_legacy() {
        *to.cache_policy_id = None;
        let desired_values = desired.forwarded_values.clone().unwrap_or_default();
        *to.forwarded_values = Some(forwarded::merged_over(
            to.forwarded_values.take(),
            &desired_values,
        )?);
        put(to.min_ttl, desired.min_ttl_seconds);
        put(to.default_ttl, desired.default_ttl_seconds);
        put(to.max_ttl, desired.max_ttl_seconds);
        // Required in the older way.
        to.min_ttl.get_or_insert(0);
    } else if desired.cache_policy_id.is_some() || (!has_policy && to.forwarded_values.is_none()) {
        let policy = desired
            .cache_policy_id
            .clone()
            .unwrap_or_else(|| CACHING_OPTIMIZED.to_owned());
        *to.cache_policy_id = Some(policy);
        *to.forwarded_values = None;
        (*to.min_ttl, *to.default_ttl, *to.max_ttl) = (None, None, None);
    }
    Ok(())
}

fn functions_over(desired: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    if let Some(desired) = &desired.function_associations {
        let current = to
            .function_associations
            .take()
            .and_then(|list| list.items)
            .unwrap_or_default();
        let new = |desired: &FunctionAssociation| {
            aws::FunctionAssociation::builder()
                .event_type(desired.event_type.as_str().into())
                .function_arn(&desired.function_arn)
                .build()
        };
        let change = |desired: &FunctionAssociation, current: &mut aws::FunctionAssociation| {
            current.function_arn.clone_from(&desired.function_arn);
            Ok(())
        };
        let is = |desired: &FunctionAssociation, current: &aws::FunctionAssociation| {
            desired.event_type == current.event_type.as_str()
        };
        let items = items(desired, current, is, new, change)?;
        let list = aws::FunctionAssociations::builder().quantity(quantity(&items));
        *to.function_associations = Some(list.set_items((!items.is_empty()).then_some(items)).build()?);
    }
    if let Some(desired) = &desired.lambda_function_associations {
        let current = to
            .lambda_function_associations
            .take()
            .and_then(|list| list.items)
            .unwrap_or_default();
        let new = |desired: &LambdaFunctionAssociation| {
            aws::LambdaFunctionAssociation::builder()
                .event_type(desired.event_type.as_str().into())
                .lambda_function_arn(&desired.lambda_function_arn)
                .build()
        };
        let change = |desired: &LambdaFunctionAssociation, current: &mut aws::LambdaFunctionAssociation| {
            current
                .lambda_function_arn
                .clone_from(&desired.lambda_function_arn);
            put(&mut current.include_body, desired.include_body);
            Ok(())
        };
        let is = |desired: &LambdaFunctionAssociation, current: &aws::LambdaFunctionAssociation| {
            desired.event_type == current.event_type.as_str()
        };
        let items = items(desired, current, is, new, change)?;
        let list = aws::LambdaFunctionAssociations::builder().quantity(quantity(&items));
        *to.lambda_function_associations =
            Some(list.set_items((!items.is_empty()).then_some(items)).build()?);
    }
    Ok(())
}

/// The parameters of an observed default behavior.
pub(in crate::services::cloudfront) fn default(observed: &aws::DefaultCacheBehavior) -> Behavior {
    let mut observed = observed.clone();
    behavior(&fields!(observed))
}

/// The parameters of observed behaviors for paths.
pub(in crate::services::cloudfront) fn ordered(
    observed: Option<&aws::CacheBehaviors>,
) -> Vec<OrderedBehavior> {
    let items = observed.map(aws::CacheBehaviors::items).unwrap_or_default();
    let ordered = |observed: &aws::CacheBehavior| {
        let mut observed = observed.clone();
        OrderedBehavior {
            path_pattern: observed.path_pattern.clone(),
            behavior: behavior(&fields!(observed)),
        }
    };
    items.iter().map(ordered).collect()
}

fn behavior(observed: &Fields<'_>) -> Behavior {
    let names = |methods: &[aws::Method]| {
        methods
            .iter()
            .map(|method| method.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    let methods = observed.allowed_methods.as_ref();
    let cached = methods.and_then(|methods| methods.cached_methods.as_ref());
    let functions = observed
        .function_associations
        .as_ref()
        .map(aws::FunctionAssociations::items);
    let lambdas = observed
        .lambda_function_associations
        .as_ref()
        .map(aws::LambdaFunctionAssociations::items);
    Behavior {
        target_origin_id: observed.target_origin_id.clone(),
        viewer_protocol_policy: observed.viewer_protocol_policy.as_str().to_owned(),
        allowed_methods: methods.map(|methods| names(&methods.items)),
        cached_methods: cached.map(|methods| names(&methods.items)),
        compress: Some(observed.compress.unwrap_or(false)),
        smooth_streaming: Some(observed.smooth_streaming.unwrap_or(false)),
        grpc_enabled: Some(observed.grpc_config.as_ref().is_some_and(|config| config.enabled)),
        cache_policy_id: Some(text(observed.cache_policy_id.as_ref())),
        origin_request_policy_id: Some(text(observed.origin_request_policy_id.as_ref())),
        response_headers_policy_id: Some(text(observed.response_headers_policy_id.as_ref())),
        forwarded_values: observed.forwarded_values.as_ref().map(forwarded::from_api),
        min_ttl_seconds: *observed.min_ttl,
        default_ttl_seconds: *observed.default_ttl,
        max_ttl_seconds: *observed.max_ttl,
        function_associations: Some(
            functions
                .unwrap_or_default()
                .iter()
                .map(|observed| FunctionAssociation {
                    event_type: observed.event_type.as_str().to_owned(),
                    function_arn: observed.function_arn.clone(),
                })
                .collect(),
        ),
        lambda_function_associations: Some(
            lambdas
                .unwrap_or_default()
                .iter()
                .map(|observed| LambdaFunctionAssociation {
                    event_type: observed.event_type.as_str().to_owned(),
                    lambda_function_arn: observed.lambda_function_arn.clone(),
                    include_body: Some(observed.include_body.unwrap_or(false)),
                })
                .collect(),
        ),
        trusted_key_groups: Some(
            observed
                .trusted_key_groups
                .as_ref()
                .map(|groups| groups.items().to_vec())
                .unwrap_or_default(),
        ),
        field_level_encryption_id: Some(text(observed.field_level_encryption_id.as_ref())),
        realtime_log_config_arn: Some(text(observed.realtime_log_config_arn.as_ref())),
    }
}
