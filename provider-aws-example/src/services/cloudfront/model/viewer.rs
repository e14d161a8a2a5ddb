//! Settings for viewers and their requests, independent of the origins.

use aws_sdk_cloudfront::types as aws;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lists::{Built, items, members, put, put_text, quantity, text};

/// The certificate that viewers see: CloudFront's own, one of ACM, or one of IAM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ViewerCertificate {
    /// CloudFront's own certificate, for the distribution's own domain name.
    pub(crate) cloud_front_default_certificate: Option<bool>,
    /// ARN of a certificate of ACM in us-east-1.
    pub(crate) acm_certificate_arn: Option<String>,
    /// Id of a certificate of IAM.
    pub(crate) iam_certificate_id: Option<String>,
    /// The oldest protocol that viewers may use; `TLSv1.2_2021` by default.
    #[schemars(extend("enum" = [
        "SSLv3", "TLSv1", "TLSv1_2016", "TLSv1.1_2016", "TLSv1.2_2018", "TLSv1.2_2019", "TLSv1.2_2021", "TLSv1.2_2025",
        "TLSv1.3_2025",
    ]))]
    pub(crate) minimum_protocol_version: Option<String>,
    /// How viewers say which certificate they expect; sni-only by default. The others cost extra.
    #[schemars(extend("enum" = ["sni-only", "vip", "static-ip"]))]
    pub(crate) ssl_support_method: Option<String>,
}

impl ViewerCertificate {
    /// Whether a certificate of the user's own is desired.
    pub(super) fn is_custom(&self) -> bool {
        self.acm_certificate_arn.is_some() || self.iam_certificate_id.is_some()
    }

    pub(super) fn merged_over(&self, current: Option<aws::ViewerCertificate>) -> aws::ViewerCertificate {
        let blank = || aws::ViewerCertificate::builder().build();
        let mut to = current.unwrap_or_else(blank);
        if self.cloud_front_default_certificate == Some(true) {
            if to.cloud_front_default_certificate != Some(true) {
                to = blank();
                to.cloud_front_default_certificate = Some(true);
            }
            return to;
        }
        if self.is_custom() {
            let text_of = |text: &Option<String>| text.clone().unwrap_or_default();
            let current = (text_of(&to.acm_certificate_arn), text_of(&to.iam_certificate_id));
            let desired = (
                text_of(&self.acm_certificate_arn),
                text_of(&self.iam_certificate_id),
            );
            if current != desired {
                // What AWS reports beside its own certificate, such as a method that costs extra, was not chosen by a user.
                let was_custom = current != Default::default();
                let chosen = was_custom.then_some((to.ssl_support_method, to.minimum_protocol_version));
                to = blank();
                (to.ssl_support_method, to.minimum_protocol_version) = chosen.unwrap_or_default();
                put_text(&mut to.acm_certificate_arn, Some(&desired.0));
                put_text(&mut to.iam_certificate_id, Some(&desired.1));
                to.cloud_front_default_certificate = Some(false);
            }
            to.ssl_support_method
                .get_or_insert(aws::SslSupportMethod::SniOnly);
            to.minimum_protocol_version
                .get_or_insert(aws::MinimumProtocolVersion::TlSv122021);
        }
        put(
            &mut to.ssl_support_method,
            self.ssl_support_method.as_deref().map(Into::into),
        );
        put(
            &mut to.minimum_protocol_version,
            self.minimum_protocol_version.as_deref().map(Into::into),
        );
        to
    }

    pub(super) fn from_api(observed: &aws::ViewerCertificate) -> Self {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Self {
            cloud_front_default_certificate: Some(observed.cloud_front_default_certificate.unwrap_or(false)),
            acm_certificate_arn: some(&observed.acm_certificate_arn),
            iam_certificate_id: some(&observed.iam_certificate_id),
            minimum_protocol_version: observed
                .minimum_protocol_version
                .as_ref()
                .map(|version| version.as_str().to_owned()),
            ssl_support_method: observed
                .ssl_support_method
                .as_ref()
                .map(|method| method.as_str().to_owned()),
        }
    }
}

/// Which viewers are served.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Restrictions {
    /// Restriction by the country of the viewer.
    pub(crate) geo_restriction: Option<GeoRestriction>,
}

/// Which viewers are served, by country.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GeoRestriction {
    /// none: everybody; whitelist: only the countries that are listed; blacklist: all but these.
    #[schemars(extend("enum" = ["none", "whitelist", "blacklist"]))]
    pub(crate) restriction_type: String,
    /// Countries, as ISO 3166-1 abbreviates them with two letters.
    #[schemars(extend("items" = { "type": "string", "pattern": "^[A-Z]{2}$" }), extend("x-kubernetes-list-type" = "set"))]
    pub(crate) locations: Option<Vec<String>>,
}

impl GeoRestriction {
    pub(super) fn merged_over(&self, current: Option<aws::Restrictions>) -> Built<aws::Restrictions> {
        let current = current.and_then(|restrictions| restrictions.geo_restriction);
        let current = current
            .and_then(|restriction| restriction.items)
            .unwrap_or_default();
        let kind = aws::GeoRestrictionType::from(self.restriction_type.as_str());
        let items = match &self.locations {
            _ if kind == aws::GeoRestrictionType::None => Vec::new(),
            Some(desired) => members(desired.clone(), current),
            None => current,
        };
        let restriction = aws::GeoRestriction::builder()
            .restriction_type(kind)
            .quantity(quantity(&items));
        let restriction = restriction
            .set_items((!items.is_empty()).then_some(items))
            .build()?;
        Ok(aws::Restrictions::builder().geo_restriction(restriction).build())
    }

    pub(super) fn from_api(observed: Option<&aws::Restrictions>) -> Self {
        let observed = observed.and_then(|restrictions| restrictions.geo_restriction.as_ref());
        Self {
            restriction_type: observed
                .map_or("none", |restriction| restriction.restriction_type.as_str())
                .to_owned(),
            locations: Some(
                observed
                    .map(|restriction| restriction.items().to_vec())
                    .unwrap_or_default(),
            ),
        }
    }
}

/// Access logs, written to a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Logging {
    /// Whether they are written.
    pub(crate) enabled: bool,
    /// Domain name of the bucket that they are written to: NAME.s3.amazonaws.com.
    pub(crate) bucket: Option<String>,
    /// What their names begin with.
    pub(crate) prefix: Option<String>,
    /// Whether cookies are in them.
    pub(crate) include_cookies: Option<bool>,
}

impl Logging {
    pub(super) fn merged_over(&self, current: Option<aws::LoggingConfig>) -> aws::LoggingConfig {
        let mut to = match current {
            Some(current) => current,
            None => aws::LoggingConfig::builder()
                .enabled(false)
                .include_cookies(false)
                .bucket("")
                .prefix("")
                .build(),
        };
        to.enabled = self.enabled;
        to.include_cookies = self.include_cookies.unwrap_or(to.include_cookies);
        if let Some(bucket) = &self.bucket {
            to.bucket.clone_from(bucket);
        }
        if let Some(prefix) = &self.prefix {
            to.prefix.clone_from(prefix);
        }
        to
    }

    pub(super) fn from_api(observed: Option<&aws::LoggingConfig>) -> Self {
        Self {
            enabled: observed.is_some_and(|logging| logging.enabled),
            bucket: Some(text(observed.map(|logging| &logging.bucket))),
            prefix: Some(text(observed.map(|logging| &logging.prefix))),
            include_cookies: Some(observed.is_some_and(|logging| logging.include_cookies)),
        }
    }
}

/// What viewers get in the place of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomErrorResponse {
    /// The status of the error.
    #[schemars(extend("enum" = [400, 403, 404, 405, 414, 416, 500, 501, 502, 503, 504]))]
    pub(crate) error_code: i32,
    /// The status that viewers get; together with responsePagePath.
    #[schemars(range(min = 200, max = 599))]
    pub(crate) response_code: Option<i32>,
    /// The path of the page that viewers get; together with responseCode. Empty text: none.
    #[schemars(regex(pattern = r"^$|^/"))]
    pub(crate) response_page_path: Option<String>,
    /// How long it is kept before the origin is asked again.
    #[schemars(range(min = 0))]
    pub(crate) error_caching_min_ttl_seconds: Option<i64>,
}

impl CustomErrorResponse {
    pub(super) fn merged_over(
        desired: &[Self],
        current: Option<aws::CustomErrorResponses>,
    ) -> Built<aws::CustomErrorResponses> {
        let current = current.and_then(|responses| responses.items).unwrap_or_default();
        let new = |desired: &Self| {
            aws::CustomErrorResponse::builder()
                .error_code(desired.error_code)
                .build()
        };
        let change = |desired: &Self, to: &mut aws::CustomErrorResponse| {
            let code = match desired.response_page_path.as_deref() {
                Some("") => Some(String::new()),
                _ => desired.response_code.map(|code| code.to_string()),
            };
            put_text(&mut to.response_page_path, desired.response_page_path.as_ref());
            put_text(&mut to.response_code, code.as_ref());
            put(
                &mut to.error_caching_min_ttl,
                desired.error_caching_min_ttl_seconds,
            );
            Ok(())
        };
        let items = items(
            desired,
            current,
            |desired, current| desired.error_code == current.error_code,
            new,
            change,
        )?;
        let responses = aws::CustomErrorResponses::builder().quantity(quantity(&items));
        responses.set_items((!items.is_empty()).then_some(items)).build()
    }

    pub(super) fn from_api(observed: Option<&aws::CustomErrorResponses>) -> Vec<Self> {
        let items = observed.map(aws::CustomErrorResponses::items).unwrap_or_default();
        items
            .iter()
            .map(|observed| Self {
                error_code: observed.error_code,
                response_code: observed.response_code.as_ref().and_then(|code| code.parse().ok()),
                response_page_path: Some(text(observed.response_page_path.as_ref())),
                error_caching_min_ttl_seconds: observed.error_caching_min_ttl,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_certificate_inherits_nothing_from_the_default_one() {
        let current = aws::ViewerCertificate::builder()
            .cloud_front_default_certificate(true)
            .ssl_support_method(aws::SslSupportMethod::Vip)
            .minimum_protocol_version(aws::MinimumProtocolVersion::TlSv1)
            .build();
        let mut desired = ViewerCertificate {
            acm_certificate_arn: Some("arn:one".to_owned()),
            ..ViewerCertificate::default()
        };
        let own = desired.merged_over(Some(current));
        let observed = ViewerCertificate::from_api(&own);
        assert_eq!(observed.cloud_front_default_certificate, Some(false));
        assert_eq!(observed.acm_certificate_arn.as_deref(), Some("arn:one"));
        assert_eq!(
            observed.ssl_support_method.as_deref(),
            Some("sni-only"),
            "the others cost extra"
        );
        assert_eq!(observed.minimum_protocol_version.as_deref(), Some("TLSv1.2_2021"));

        desired.minimum_protocol_version = Some("TLSv1.2_2019".to_owned());
        let chosen = desired.merged_over(Some(own));
        desired.minimum_protocol_version = None;
        desired.acm_certificate_arn = Some("arn:two".to_owned());
        let renewed = ViewerCertificate::from_api(&desired.merged_over(Some(chosen)));
        assert_eq!(renewed.acm_certificate_arn.as_deref(), Some("arn:two"));
        assert_eq!(
            renewed.minimum_protocol_version.as_deref(),
            Some("TLSv1.2_2019"),
            "the choice for the former certificate stays"
        );
    }
}
