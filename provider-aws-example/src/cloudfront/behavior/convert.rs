//! Behaviors as AWS has them: two types with the same fields, of which one knows its path as well.

#![allow(deprecated)] // AWS advises against caching without a policy, and still serves it.

use aws_sdk_cloudfront::types as aws;

use super::{Behavior, FunctionAssociation, LambdaFunctionAssociation, OrderedBehavior, forwarded};
use crate::cloudfront::lists::{Built, items, members, put, put_text, quantity, text};

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

/// The wish over the default behavior that is there.
pub(in crate::cloudfront) fn default_over(
    there: Option<aws::DefaultCacheBehavior>,
    wish: &Behavior,
) -> Built<aws::DefaultCacheBehavior> {
    let mut behavior = match there {
        Some(behavior) => behavior,
        None => aws::DefaultCacheBehavior::builder()
            .target_origin_id(&wish.target_origin_id)
            .viewer_protocol_policy(wish.viewer_protocol_policy.as_str().into())
            .build()?,
    };
    over(wish, &mut fields!(behavior))?;
    Ok(behavior)
}

/// The wished behaviors, in the wished order, over those that are there.
pub(in crate::cloudfront) fn ordered_over(
    there: Option<aws::CacheBehaviors>,
    wish: &[OrderedBehavior],
) -> Built<aws::CacheBehaviors> {
    let mut there = there.and_then(|behaviors| behaviors.items).unwrap_or_default();
    let mut items = Vec::new();
    for OrderedBehavior {
        path_pattern,
        behavior: wish,
    } in wish
    {
        let known = there
            .iter()
            .position(|behavior| behavior.path_pattern == *path_pattern);
        let mut behavior = match known {
            Some(known) => there.remove(known),
            None => aws::CacheBehavior::builder()
                .path_pattern(path_pattern)
                .target_origin_id(&wish.target_origin_id)
                .viewer_protocol_policy(wish.viewer_protocol_policy.as_str().into())
                .build()?,
        };
        over(wish, &mut fields!(behavior))?;
        items.push(behavior);
    }
    let quantity = quantity(&items);
    let items = (!items.is_empty()).then_some(items);
    aws::CacheBehaviors::builder()
        .quantity(quantity)
        .set_items(items)
        .build()
}

fn over(wish: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    to.target_origin_id.clone_from(&wish.target_origin_id);
    *to.viewer_protocol_policy = wish.viewer_protocol_policy.as_str().into();
    methods_over(wish, to)?;
    put(to.compress, wish.compress);
    put(to.smooth_streaming, wish.smooth_streaming);
    if let Some(enabled) = wish.grpc_enabled {
        *to.grpc_config = Some(aws::GrpcConfig::builder().enabled(enabled).build()?);
    }
    caching_over(wish, to)?;
    put_text(
        to.origin_request_policy_id,
        wish.origin_request_policy_id.as_ref(),
    );
    put_text(
        to.response_headers_policy_id,
        wish.response_headers_policy_id.as_ref(),
    );
    put_text(
        to.field_level_encryption_id,
        wish.field_level_encryption_id.as_ref(),
    );
    put_text(to.realtime_log_config_arn, wish.realtime_log_config_arn.as_ref());
    if let Some(groups) = &wish.trusted_key_groups {
        let there = to
            .trusted_key_groups
            .take()
            .and_then(|groups| groups.items)
            .unwrap_or_default();
        let items = members(groups.clone(), there);
        let enabled = !items.is_empty();
        let groups = aws::TrustedKeyGroups::builder()
            .enabled(enabled)
            .quantity(quantity(&items));
        *to.trusted_key_groups = Some(groups.set_items(enabled.then_some(items)).build()?);
    }
    functions_over(wish, to)
}

/// AWS keeps the cached methods within the allowed ones.
fn methods_over(wish: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    if wish.allowed_methods.is_none() && wish.cached_methods.is_none() {
        return Ok(());
    }
    let methods = |names: &[&str]| {
        names
            .iter()
            .map(|name| aws::Method::from(*name))
            .collect::<Vec<_>>()
    };
    let wished = |names: &[String]| {
        names
            .iter()
            .map(|name| aws::Method::from(name.as_str()))
            .collect()
    };
    let (allowed, cached) = match to.allowed_methods.take() {
        Some(there) => (there.items, there.cached_methods.map(|cached| cached.items)),
        None => (methods(&["HEAD", "GET"]), None),
    };
    let allowed = match &wish.allowed_methods {
        Some(wish) => members(wished(wish), allowed),
        None => allowed,
    };
    let cached = cached.unwrap_or_else(|| methods(&["HEAD", "GET"]));
    let cached = match &wish.cached_methods {
        Some(wish) => members(wished(wish), cached),
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
fn caching_over(wish: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    let has_policy = to.cache_policy_id.as_ref().is_some_and(|id| !id.is_empty());
    if wish.is_legacy() {
        *to.cache_policy_id = None;
        let wish_values = wish.forwarded_values.clone().unwrap_or_default();
        *to.forwarded_values = Some(forwarded::over(to.forwarded_values.take(), &wish_values)?);
        put(to.min_ttl, wish.min_ttl_seconds);
        put(to.default_ttl, wish.default_ttl_seconds);
        put(to.max_ttl, wish.max_ttl_seconds);
        // Required in the older way.
        to.min_ttl.get_or_insert(0);
    } else if wish.cache_policy_id.is_some() || (!has_policy && to.forwarded_values.is_none()) {
        let policy = wish
            .cache_policy_id
            .clone()
            .unwrap_or_else(|| CACHING_OPTIMIZED.to_owned());
        *to.cache_policy_id = Some(policy);
        *to.forwarded_values = None;
        (*to.min_ttl, *to.default_ttl, *to.max_ttl) = (None, None, None);
    }
    Ok(())
}

fn functions_over(wish: &Behavior, to: &mut Fields<'_>) -> Built<()> {
    if let Some(wish) = &wish.function_associations {
        let there = to
            .function_associations
            .take()
            .and_then(|list| list.items)
            .unwrap_or_default();
        let new = |wish: &FunctionAssociation| {
            aws::FunctionAssociation::builder()
                .event_type(wish.event_type.as_str().into())
                .function_arn(&wish.function_arn)
                .build()
        };
        let change = |wish: &FunctionAssociation, there: &mut aws::FunctionAssociation| {
            there.function_arn.clone_from(&wish.function_arn);
            Ok(())
        };
        let is = |wish: &FunctionAssociation, there: &aws::FunctionAssociation| {
            wish.event_type == there.event_type.as_str()
        };
        let items = items(wish, there, is, new, change)?;
        let list = aws::FunctionAssociations::builder().quantity(quantity(&items));
        *to.function_associations = Some(list.set_items((!items.is_empty()).then_some(items)).build()?);
    }
    if let Some(wish) = &wish.lambda_function_associations {
        let there = to
            .lambda_function_associations
            .take()
            .and_then(|list| list.items)
            .unwrap_or_default();
        let new = |wish: &LambdaFunctionAssociation| {
            aws::LambdaFunctionAssociation::builder()
                .event_type(wish.event_type.as_str().into())
                .lambda_function_arn(&wish.lambda_function_arn)
                .build()
        };
        let change = |wish: &LambdaFunctionAssociation, there: &mut aws::LambdaFunctionAssociation| {
            there.lambda_function_arn.clone_from(&wish.lambda_function_arn);
            put(&mut there.include_body, wish.include_body);
            Ok(())
        };
        let is = |wish: &LambdaFunctionAssociation, there: &aws::LambdaFunctionAssociation| {
            wish.event_type == there.event_type.as_str()
        };
        let items = items(wish, there, is, new, change)?;
        let list = aws::LambdaFunctionAssociations::builder().quantity(quantity(&items));
        *to.lambda_function_associations =
            Some(list.set_items((!items.is_empty()).then_some(items)).build()?);
    }
    Ok(())
}

/// What was found as the default, in the shape of the wish.
pub(in crate::cloudfront) fn default(found: &aws::DefaultCacheBehavior) -> Behavior {
    let mut found = found.clone();
    behavior(&fields!(found))
}

/// What was found for paths, in the shape of the wish.
pub(in crate::cloudfront) fn ordered(found: Option<&aws::CacheBehaviors>) -> Vec<OrderedBehavior> {
    let items = found.map(aws::CacheBehaviors::items).unwrap_or_default();
    let ordered = |found: &aws::CacheBehavior| {
        let mut found = found.clone();
        OrderedBehavior {
            path_pattern: found.path_pattern.clone(),
            behavior: behavior(&fields!(found)),
        }
    };
    items.iter().map(ordered).collect()
}

fn behavior(found: &Fields<'_>) -> Behavior {
    let names = |methods: &[aws::Method]| {
        methods
            .iter()
            .map(|method| method.as_str().to_owned())
            .collect::<Vec<_>>()
    };
    let methods = found.allowed_methods.as_ref();
    let cached = methods.and_then(|methods| methods.cached_methods.as_ref());
    let functions = found
        .function_associations
        .as_ref()
        .map(aws::FunctionAssociations::items);
    let lambdas = found
        .lambda_function_associations
        .as_ref()
        .map(aws::LambdaFunctionAssociations::items);
    Behavior {
        target_origin_id: found.target_origin_id.clone(),
        viewer_protocol_policy: found.viewer_protocol_policy.as_str().to_owned(),
        allowed_methods: methods.map(|methods| names(&methods.items)),
        cached_methods: cached.map(|methods| names(&methods.items)),
        compress: Some(found.compress.unwrap_or(false)),
        smooth_streaming: Some(found.smooth_streaming.unwrap_or(false)),
        grpc_enabled: Some(found.grpc_config.as_ref().is_some_and(|config| config.enabled)),
        cache_policy_id: Some(text(found.cache_policy_id.as_ref())),
        origin_request_policy_id: Some(text(found.origin_request_policy_id.as_ref())),
        response_headers_policy_id: Some(text(found.response_headers_policy_id.as_ref())),
        forwarded_values: found.forwarded_values.as_ref().map(forwarded::found),
        min_ttl_seconds: *found.min_ttl,
        default_ttl_seconds: *found.default_ttl,
        max_ttl_seconds: *found.max_ttl,
        function_associations: Some(
            functions
                .unwrap_or_default()
                .iter()
                .map(|found| FunctionAssociation {
                    event_type: found.event_type.as_str().to_owned(),
                    function_arn: found.function_arn.clone(),
                })
                .collect(),
        ),
        lambda_function_associations: Some(
            lambdas
                .unwrap_or_default()
                .iter()
                .map(|found| LambdaFunctionAssociation {
                    event_type: found.event_type.as_str().to_owned(),
                    lambda_function_arn: found.lambda_function_arn.clone(),
                    include_body: Some(found.include_body.unwrap_or(false)),
                })
                .collect(),
        ),
        trusted_key_groups: Some(
            found
                .trusted_key_groups
                .as_ref()
                .map(|groups| groups.items().to_vec())
                .unwrap_or_default(),
        ),
        field_level_encryption_id: Some(text(found.field_level_encryption_id.as_ref())),
        realtime_log_config_arn: Some(text(found.realtime_log_config_arn.as_ref())),
    }
}
