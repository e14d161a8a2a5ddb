//! Checks of a behavior that its schema cannot express.

use super::Behavior;
use crate::validation::Violations;

/// The sets of methods that can be allowed, besides all.
const FEW: [&[&str]; 2] = [&["GET", "HEAD"], &["GET", "HEAD", "OPTIONS"]];

/// How many methods CloudFront knows.
const ALL: usize = 7;

/// Checks the behavior at the pointer `at`, where requests can go to `targets`.
pub(in crate::services::cloudfront) fn check(
    behavior: &Behavior,
    at: &str,
    targets: &[&str],
    violations: &mut Violations,
) {
    let target = behavior.target_origin_id.as_str();
    violations.add_if(
        !targets.contains(&target),
        format!("{at}/targetOriginId"),
        format!("there is no origin or group of origins {target:?}"),
    );
    check_methods(behavior, at, violations);
    let has_policy = behavior.cache_policy_id.as_ref().is_some_and(|id| !id.is_empty());
    violations.add_if(
        has_policy && behavior.is_legacy(),
        format!("{at}/cachePolicyId"),
        "caching is either by a policy or by forwardedValues and TTLs",
    );
    let ttls = [
        behavior.min_ttl_seconds,
        behavior.default_ttl_seconds,
        behavior.max_ttl_seconds,
    ];
    let known: Vec<i64> = ttls.into_iter().flatten().collect();
    violations.add_if(
        !known.is_sorted(),
        format!("{at}/minTtlSeconds"),
        "TTLs rise from the least over the default to the most",
    );
    if let Some(cookies) = behavior
        .forwarded_values
        .as_ref()
        .and_then(|values| values.cookies.as_ref())
    {
        let names = cookies
            .whitelisted_names
            .as_ref()
            .is_some_and(|names| !names.is_empty());
        violations.add_if(
            names != (cookies.forward == "whitelist"),
            format!("{at}/forwardedValues/cookies/whitelistedNames"),
            "names are given if, and only if, forward is whitelist",
        );
    }
    let on_origin = behavior.lambda_function_associations.iter().flatten().enumerate();
    for (index, lambda) in on_origin {
        violations.add_if(
            lambda.include_body == Some(true) && lambda.event_type.ends_with("response"),
            format!("{at}/lambdaFunctionAssociations/{index}/includeBody"),
            "only requests have a body to be seen",
        );
    }
}

fn check_methods(behavior: &Behavior, at: &str, violations: &mut Violations) {
    let is_one_of_few = |methods: &[String]| {
        FEW.iter().any(|few| {
            few.len() == methods.len() && few.iter().all(|few| methods.iter().any(|method| method == few))
        })
    };
    if let Some(allowed) = &behavior.allowed_methods {
        violations.add_if(
            allowed.len() != ALL && !is_one_of_few(allowed),
            format!("{at}/allowedMethods"),
            "either GET and HEAD, or these and OPTIONS, or all seven methods",
        );
    }
    if let Some(cached) = &behavior.cached_methods {
        violations.add_if(
            !is_one_of_few(cached),
            format!("{at}/cachedMethods"),
            "either GET and HEAD, or these and OPTIONS",
        );
        let not_allowed = behavior
            .allowed_methods
            .as_ref()
            .is_some_and(|allowed| cached.iter().any(|method| !allowed.contains(method)));
        violations.add_if(
            not_allowed,
            format!("{at}/cachedMethods"),
            "only what is allowed can be cached",
        );
    }
}
