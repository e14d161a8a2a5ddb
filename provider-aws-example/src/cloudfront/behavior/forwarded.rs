//! Caching without a policy: what of a request reaches the origin.

use aws_sdk_cloudfront::types as aws;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cloudfront::lists::{Built, members, quantity};

/// What of a request reaches the origin, and tells responses apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ForwardedValues {
    /// The query string.
    pub(crate) query_string: Option<bool>,
    /// Parameters of the query string that tell responses apart. An empty list: all.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) query_string_cache_keys: Option<Vec<String>>,
    /// Headers. A * stands for all; an empty list: none.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) headers: Option<Vec<String>>,
    /// Cookies.
    pub(crate) cookies: Option<Cookies>,
}

/// Cookies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cookies {
    /// Which of them.
    #[schemars(extend("enum" = ["none", "whitelist", "all"]))]
    pub(crate) forward: String,
    /// Names, for whitelist.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) whitelisted_names: Option<Vec<String>>,
}

/// The wish over what is there.
pub(super) fn over(
    there: Option<aws::ForwardedValues>,
    wish: &ForwardedValues,
) -> Built<aws::ForwardedValues> {
    let mut values = match there {
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
    values.query_string = wish.query_string.unwrap_or(values.query_string);
    if let Some(keys) = &wish.query_string_cache_keys {
        let there = values
            .query_string_cache_keys
            .take()
            .and_then(|keys| keys.items)
            .unwrap_or_default();
        let items = members(keys.clone(), there);
        let keys = aws::QueryStringCacheKeys::builder()
            .quantity(quantity(&items))
            .set_items(some(items));
        values.query_string_cache_keys = Some(keys.build()?);
    }
    if let Some(headers) = &wish.headers {
        let there = values
            .headers
            .take()
            .and_then(|headers| headers.items)
            .unwrap_or_default();
        let items = members(headers.clone(), there);
        let headers = aws::Headers::builder()
            .quantity(quantity(&items))
            .set_items(some(items));
        values.headers = Some(headers.build()?);
    }
    if let Some(cookies) = &wish.cookies {
        values.cookies = Some(cookies_over(values.cookies.take(), cookies)?);
    }
    Ok(values)
}

fn cookies_over(there: Option<aws::CookiePreference>, wish: &Cookies) -> Built<aws::CookiePreference> {
    let forward = aws::ItemSelection::from(wish.forward.as_str());
    let mut names = there.and_then(|cookies| cookies.whitelisted_names);
    if let Some(wish) = &wish.whitelisted_names {
        let there = names.take().and_then(|names| names.items).unwrap_or_default();
        let items = members(wish.clone(), there);
        names = Some(
            aws::CookieNames::builder()
                .quantity(quantity(&items))
                .set_items(some(items))
                .build()?,
        );
    }
    let names = names.filter(|_| forward == aws::ItemSelection::Whitelist);
    aws::CookiePreference::builder()
        .forward(forward)
        .set_whitelisted_names(names)
        .build()
}

/// AWS leaves out empty lists.
fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

/// What was found, in the shape of the wish.
pub(super) fn found(values: &aws::ForwardedValues) -> ForwardedValues {
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
