//! A distribution's configuration as AWS has it: read whole, changed where the wish says so, written whole.

use aws_sdk_cloudfront::types as aws;

use super::{
    CustomErrorResponse, DistributionParameters, GeoRestriction, Logging, Restrictions, ViewerCertificate,
};
use crate::cloudfront::lists::{Built, members, put, put_text, quantity, text};
use crate::cloudfront::{behavior, origin};
use crate::ownership::Tags;

/// The configuration of a new distribution.
pub(in crate::cloudfront) fn new(
    wish: &DistributionParameters,
    caller_reference: &str,
) -> Built<aws::DistributionConfig> {
    let blank = aws::DistributionConfig::builder()
        .caller_reference(caller_reference)
        .comment("")
        .enabled(true);
    over(wish, blank.build()?)
}

/// The wish over a configuration that is there. What nobody wished for stays, the caller reference among it.
pub(in crate::cloudfront) fn over(
    wish: &DistributionParameters,
    mut to: aws::DistributionConfig,
) -> Built<aws::DistributionConfig> {
    to.enabled = wish.enabled.unwrap_or(to.enabled);
    if let Some(comment) = &wish.comment {
        to.comment.clone_from(comment);
    }
    if let Some(aliases) = &wish.aliases {
        let there = to
            .aliases
            .take()
            .and_then(|aliases| aliases.items)
            .unwrap_or_default();
        let items = members(aliases.clone(), there);
        let aliases = aws::Aliases::builder().quantity(quantity(&items));
        to.aliases = Some(aliases.set_items((!items.is_empty()).then_some(items)).build()?);
    }
    if let Some(origins) = &wish.origins {
        to.origins = Some(origin::origins_over(to.origins.take(), origins)?);
    }
    if let Some(groups) = &wish.origin_groups {
        to.origin_groups = Some(origin::groups_over(to.origin_groups.take(), groups)?);
    }
    if let Some(behavior) = &wish.default_cache_behavior {
        let there = to.default_cache_behavior.take();
        to.default_cache_behavior = Some(behavior::default_over(there, behavior)?);
    }
    if let Some(behaviors) = &wish.ordered_cache_behaviors {
        to.cache_behaviors = Some(behavior::ordered_over(to.cache_behaviors.take(), behaviors)?);
    }
    if let Some(responses) = &wish.custom_error_responses {
        let there = to.custom_error_responses.take();
        to.custom_error_responses = Some(CustomErrorResponse::over(responses, there)?);
    }
    put_text(&mut to.default_root_object, wish.default_root_object.as_ref());
    put(&mut to.price_class, wish.price_class.as_deref().map(Into::into));
    let version = wish
        .http_version
        .as_deref()
        .filter(|wish| !is_version(to.http_version.as_ref(), wish));
    put(&mut to.http_version, version.map(Into::into));
    put(&mut to.is_ipv6_enabled, wish.is_ipv6_enabled);
    if let Some(certificate) = &wish.viewer_certificate {
        to.viewer_certificate = Some(certificate.over(to.viewer_certificate.take()));
    }
    if let Some(restriction) = wish
        .restrictions
        .as_ref()
        .and_then(|wish| wish.geo_restriction.as_ref())
    {
        to.restrictions = Some(restriction.over(to.restrictions.take())?);
    }
    if let Some(logging) = &wish.logging {
        to.logging = Some(logging.over(to.logging.take()));
    }
    put_text(&mut to.web_acl_id, wish.web_acl_id.as_ref());
    Ok(to)
}

/// AWS answers HTTP2 where http2 was sent.
fn is_version(there: Option<&aws::HttpVersion>, wish: &str) -> bool {
    there.is_some_and(|version| version.as_str().eq_ignore_ascii_case(wish))
}

/// What was found, in the shape of the wish.
pub(in crate::cloudfront) fn found(config: &aws::DistributionConfig, tags: Tags) -> DistributionParameters {
    DistributionParameters {
        enabled: Some(config.enabled),
        comment: Some(config.comment.clone()),
        aliases: Some(
            config
                .aliases
                .as_ref()
                .map(|aliases| aliases.items().to_vec())
                .unwrap_or_default(),
        ),
        origins: Some(
            config
                .origins
                .as_ref()
                .map(|list| origin::origins(&list.items))
                .unwrap_or_default(),
        ),
        origin_groups: Some(origin::groups(config.origin_groups.as_ref())),
        default_cache_behavior: config.default_cache_behavior.as_ref().map(behavior::default),
        ordered_cache_behaviors: Some(behavior::ordered(config.cache_behaviors.as_ref())),
        custom_error_responses: Some(CustomErrorResponse::found(config.custom_error_responses.as_ref())),
        default_root_object: Some(text(config.default_root_object.as_ref())),
        price_class: config.price_class.as_ref().map(|class| class.as_str().to_owned()),
        http_version: config
            .http_version
            .as_ref()
            .map(|version| version.as_str().to_owned()),
        is_ipv6_enabled: Some(config.is_ipv6_enabled.unwrap_or(false)),
        viewer_certificate: config.viewer_certificate.as_ref().map(ViewerCertificate::found),
        restrictions: Some(Restrictions {
            geo_restriction: Some(GeoRestriction::found(config.restrictions.as_ref())),
        }),
        logging: Some(Logging::found(config.logging.as_ref())),
        web_acl_id: Some(text(config.web_acl_id.as_ref())),
        tags: Some(tags),
    }
}
