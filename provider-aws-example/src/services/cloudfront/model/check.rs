//! Checks of a distribution that its schema cannot express.

use crossbridge_sdk::Failure;

use super::DistributionParameters;
use super::{behavior, origin};
use crate::tags;
use crate::validation::Violations;

impl DistributionParameters {
    /// Checks what the schema cannot express.
    ///
    /// # Errors
    /// `INVALID_SPEC` that names every invalid field.
    pub(in crate::services::cloudfront) fn check(&self) -> Result<(), Failure> {
        let mut violations = Violations::default();
        tags::check(self.tags.as_ref(), &mut violations);
        self.check_paths(&mut violations);
        self.check_viewers(&mut violations);
        violations.into_result()
    }

    fn check_paths(&self, violations: &mut Violations) {
        let origins = self.origins.as_deref().unwrap_or_default();
        let groups = self.origin_groups.as_deref().unwrap_or_default();
        origin::check::check(origins, groups, violations);
        let targets: Vec<&str> = origins
            .iter()
            .map(|origin| origin.id.as_str())
            .chain(groups.iter().map(|group| group.id.as_str()))
            .collect();
        match &self.default_cache_behavior {
            Some(default) => behavior::check::check(default, "/defaultCacheBehavior", &targets, violations),
            None => violations.add(
                "/defaultCacheBehavior",
                "a distribution has a default cache behavior",
            ),
        }
        let ordered = self.ordered_cache_behaviors.as_deref().unwrap_or_default();
        for (index, one) in ordered.iter().enumerate() {
            let at = format!("/orderedCacheBehaviors/{index}");
            behavior::check::check(&one.behavior, &at, &targets, violations);
            violations.add_if(
                ordered[..index]
                    .iter()
                    .any(|before| before.path_pattern == one.path_pattern),
                format!("{at}/pathPattern"),
                format!("there is a behavior for {:?} already", one.path_pattern),
            );
        }
    }

    fn check_viewers(&self, violations: &mut Violations) {
        if let Some(certificate) = &self.viewer_certificate {
            let default = certificate.cloud_front_default_certificate == Some(true);
            violations.add_if(
                default && certificate.is_custom(),
                "/viewerCertificate/cloudFrontDefaultCertificate",
                "either CloudFront's own certificate or one of your own",
            );
            violations.add_if(
                certificate.acm_certificate_arn.is_some() && certificate.iam_certificate_id.is_some(),
                "/viewerCertificate/iamCertificateId",
                "either a certificate of ACM or one of IAM",
            );
            violations.add_if(
                default && certificate.ssl_support_method.is_some(),
                "/viewerCertificate/sslSupportMethod",
                "this goes with a certificate of your own only",
            );
            // Whatever is sent there, AWS makes it TLSv1.
            let version = certificate.minimum_protocol_version.as_deref();
            violations.add_if(
                default && version.is_some_and(|version| version != "TLSv1"),
                "/viewerCertificate/minimumProtocolVersion",
                "with CloudFront's own certificate this is always TLSv1",
            );
            violations.add_if(
                default && self.aliases.as_ref().is_some_and(|aliases| !aliases.is_empty()),
                "/aliases",
                "alternate domain names need a certificate of your own",
            );
        }
        if let Some(geo) = self
            .restrictions
            .as_ref()
            .and_then(|restrictions| restrictions.geo_restriction.as_ref())
        {
            let listed = geo
                .locations
                .as_ref()
                .is_some_and(|locations| !locations.is_empty());
            violations.add_if(
                listed == (geo.restriction_type == "none"),
                "/restrictions/geoRestriction/locations",
                "countries are listed if, and only if, there is a restriction",
            );
        }
        if let Some(logging) = &self.logging {
            violations.add_if(
                logging.enabled && logging.bucket.as_ref().is_none_or(String::is_empty),
                "/logging/bucket",
                "logs are written to a bucket",
            );
        }
        for (index, response) in self.custom_error_responses.iter().flatten().enumerate() {
            let page = response
                .response_page_path
                .as_ref()
                .is_some_and(|path| !path.is_empty());
            violations.add_if(
                page != response.response_code.is_some(),
                format!("/customErrorResponses/{index}/responseCode"),
                "responseCode and responsePagePath go together",
            );
        }
    }
}
