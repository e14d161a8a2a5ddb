//! A distribution's configuration in the types of the API: it is read whole, changed where the desired state differs, and written whole.

use aws_sdk_cloudfront::types as aws;

use super::lists::{Built, members, put, put_text, quantity, text};
use super::viewer::{CustomErrorResponse, GeoRestriction, Logging, Restrictions, ViewerCertificate};
use super::{DistributionParameters, behavior, origin};
use crate::tags::Tags;

/// The configuration of a new distribution.
pub(in crate::services::cloudfront) fn new_config(
    desired: &DistributionParameters,
    caller_reference: &str,
) -> Built<aws::DistributionConfig> {
    let blank = aws::DistributionConfig::builder()
        .caller_reference(caller_reference)
        .comment("")
        .enabled(true);
    merged_over(desired, blank.build()?)
}

/// The current configuration with the desired values. What the desired state does not give stays, the caller reference included.
pub(in crate::services::cloudfront) fn merged_over(
    desired: &DistributionParameters,
    mut to: aws::DistributionConfig,
) -> Built<aws::DistributionConfig> {
    to.enabled = desired.enabled.unwrap_or(to.enabled);
    if let Some(comment) = &desired.comment {
        to.comment.clone_from(comment);
    }
    if let Some(aliases) = &desired.aliases {
        let current = to
            .aliases
            .take()
            .and_then(|aliases| aliases.items)
            .unwrap_or_default();
        let items = members(aliases.clone(), current);
        let aliases = aws::Aliases::builder().quantity(quantity(&items));
        to.aliases = Some(aliases.set_items((!items.is_empty()).then_some(items)).build()?);
    }
    if let Some(origins) = &desired.origins {
        to.origins = Some(origin::convert::origins_over(to.origins.take(), origins)?);
    }
    if let Some(groups) = &desired.origin_groups {
        to.origin_groups = Some(origin::convert::groups_over(to.origin_groups.take(), groups)?);
    }
    if let Some(behavior) = &desired.default_cache_behavior {
        let current = to.default_cache_behavior.take();
        to.default_cache_behavior = Some(behavior::convert::default_over(current, behavior)?);
    }
    if let Some(behaviors) = &desired.ordered_cache_behaviors {
        to.cache_behaviors = Some(behavior::convert::ordered_over(
            to.cache_behaviors.take(),
            behaviors,
        )?);
    }
    if let Some(responses) = &desired.custom_error_responses {
        let current = to.custom_error_responses.take();
        to.custom_error_responses = Some(CustomErrorResponse::merged_over(responses, current)?);
    }
    put_text(&mut to.default_root_object, desired.default_root_object.as_ref());
    put(
        &mut to.price_class,
        desired.price_class.as_deref().map(Into::into),
    );
    let version = desired
        .http_version
        .as_deref()
        .filter(|desired| !is_version(to.http_version.as_ref(), desired));
    put(&mut to.http_version, version.map(Into::into));
    put(&mut to.is_ipv6_enabled, desired.is_ipv6_enabled);
    if let Some(certificate) = &desired.viewer_certificate {
        to.viewer_certificate = Some(certificate.merged_over(to.viewer_certificate.take()));
    }
    if let Some(restriction) = desired
        .restrictions
        .as_ref()
        .and_then(|desired| desired.geo_restriction.as_ref())
    {
        to.restrictions = Some(restriction.merged_over(to.restrictions.take())?);
    }
    if let Some(logging) = &desired.logging {
        to.logging = Some(logging.merged_over(to.logging.take()));
    }
    put_text(&mut to.web_acl_id, desired.web_acl_id.as_ref());
    Ok(to)
}

/// AWS returns HTTP2 where http2 was sent.
fn is_version(current: Option<&aws::HttpVersion>, desired: &str) -> bool {
    current.is_some_and(|version| version.as_str().eq_ignore_ascii_case(desired))
}

/// The parameters that a configuration stands for.
pub(in crate::services::cloudfront) fn to_parameters(
    config: &aws::DistributionConfig,
    tags: Tags,
) -> DistributionParameters {
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
                .map(|list| origin::convert::origins(&list.items))
                .unwrap_or_default(),
        ),
        origin_groups: Some(origin::convert::groups(config.origin_groups.as_ref())),
        default_cache_behavior: config
            .default_cache_behavior
            .as_ref()
            .map(behavior::convert::default),
        ordered_cache_behaviors: Some(behavior::convert::ordered(config.cache_behaviors.as_ref())),
        custom_error_responses: Some(CustomErrorResponse::from_api(
            config.custom_error_responses.as_ref(),
        )),
        default_root_object: Some(text(config.default_root_object.as_ref())),
        price_class: config.price_class.as_ref().map(|class| class.as_str().to_owned()),
        http_version: config
            .http_version
            .as_ref()
            .map(|version| version.as_str().to_owned()),
        is_ipv6_enabled: Some(config.is_ipv6_enabled.unwrap_or(false)),
        viewer_certificate: config
            .viewer_certificate
            .as_ref()
            .map(ViewerCertificate::from_api),
        restrictions: Some(Restrictions {
            geo_restriction: Some(GeoRestriction::from_api(config.restrictions.as_ref())),
        }),
        logging: Some(Logging::from_api(config.logging.as_ref())),
        web_acl_id: Some(text(config.web_acl_id.as_ref())),
        tags: Some(tags),
    }
}

/// Tags in the types of the API.
pub(in crate::services::cloudfront) fn tags(tags: &Tags) -> Built<aws::Tags> {
    let mut list = aws::Tags::builder();
    for (key, value) in tags {
        list = list.items(aws::Tag::builder().key(key).value(value).build()?);
    }
    Ok(list.build())
}
