//! Caching without a policy: what of a request reaches the origin.

use aws_sdk_cloudfront::types as aws;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::services::cloudfront::model::lists::{Built, members, quantity};

/// What of a request reaches the origin, and tells responses apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForwardedValues {
    /// Whether the query string does.
    pub(crate) query_string: Option<bool>,
    /// Parameters of the query string that tell responses apart. An empty list: all.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) query_string_cache_keys: Option<Vec<String>>,
    /// Headers. A * stands for all; an empty list: none.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) headers: Option<Vec<String>>,
    /// Which cookies do.
    pub(crate) cookies: Option<Cookies>,
}

/// Cookies that reach the origin, and tell responses apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cookies {
    /// Which cookies: none, those that are named, or all.
    #[schemars(extend("enum" = ["none", "whitelist", "all"]))]
    pub(crate) forward: String,
    /// Names of the cookies, with whitelist.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) whitelisted_names: Option<Vec<String>>,
}

/// The current values with the desired ones.
pub(super) fn merged_over(
    current: Option<aws::ForwardedValues>,
    desired: &ForwardedValues,
) -> Built<aws::ForwardedValues> {
    let mut values = match current {
        Some(values) => values,
        None => aws::ForwardedValues::builder()
            .query_string(false)
            .cookies(
                aws::CookiePreference::builder()
                    .forward(aws::ItemSelection::None)
                    .build()?,
            )
            .build()?,
    };
    values.query_string = desired.query_string.unwrap_or(values.query_string);
    if let Some(keys) = &desired.query_string_cache_keys {
        let current = values
            .query_string_cache_keys
            .take()
            .and_then(|keys| keys.items)
            .unwrap_or_default();
        let items = members(keys.clone(), current);
        let keys = aws::QueryStringCacheKeys::builder()
            .quantity(quantity(&items))
            .set_items(non_empty(items));
        values.query_string_cache_keys = Some(keys.build()?);
    }
    if let Some(headers) = &desired.headers {
        let current = values
            .headers
            .take()
            .and_then(|headers| headers.items)
            .unwrap_or_default();
        let items = members(headers.clone(), current);
        let headers = aws::Headers::builder()
            .quantity(quantity(&items))
            .set_items(non_empty(items));
        values.headers = Some(headers.build()?);
    }
    if let Some(cookies) = &desired.cookies {
        values.cookies = Some(cookies_over(values.cookies.take(), cookies)?);
    }
    Ok(values)
}

fn cookies_over(current: Option<aws::CookiePreference>, desired: &Cookies) -> Built<aws::CookiePreference> {
    let forward = aws::ItemSelection::from(desired.forward.as_str());
    let mut names = current.and_then(|cookies| cookies.whitelisted_names);
    if let Some(desired) = &desired.whitelisted_names {
        let current = names.take().and_then(|names| names.items).unwrap_or_default();
        let items = members(desired.clone(), current);
        names = Some(
            aws::CookieNames::builder()
                .quantity(quantity(&items))
                .set_items(non_empty(items))
                .build()?,
        );
    }
    let names = names.filter(|_| forward == aws::ItemSelection::Whitelist);
    aws::CookiePreference::builder()
        .forward(forward)
        .set_whitelisted_names(names)
        .build()
}

/// The API has no empty lists.
fn non_empty<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

/// The parameters that forwarded values stand for.
pub(super) fn from_api(values: &aws::ForwardedValues) -> ForwardedValues {
    let cookies = values.cookies.as_ref();
    ForwardedValues {
        query_string: Some(values.query_string),
        query_string_cache_keys: Some(
            values
                .query_string_cache_keys
                .as_ref()
                .map(|keys| keys.items().to_vec())
                .unwrap_or_default(),
        ),
        headers: Some(
            values
                .headers
                .as_ref()
                .map(|headers| headers.items().to_vec())
                .unwrap_or_default(),
        ),
        cookies: cookies.map(|cookies| Cookies {
            forward: cookies.forward.as_str().to_owned(),
            whitelisted_names: Some(
                cookies
                    .whitelisted_names
                    .as_ref()
                    .map(|names| names.items().to_vec())
                    .unwrap_or_default(),
            ),
        }),
    }
}
