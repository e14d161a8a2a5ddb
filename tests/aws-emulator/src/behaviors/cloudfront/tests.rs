use http::HeaderMap;

use super::*;
use crate::call::Call;
use crate::service::Service;

struct Fixture {
    distributions: Distributions,
    now: Instant,
}

fn config(enabled: bool) -> String {
    format!(
        "<DistributionConfig><CallerReference>r</CallerReference><Enabled>{enabled}</Enabled></DistributionConfig>"
    )
}

fn answered(config: &str) -> String {
    format!("<Distribution><Id>E1</Id><Status>Deployed</Status>{config}</Distribution>")
}

impl Fixture {
    fn new(settles: Settle) -> Self {
        Self {
            distributions: Distributions::new(settles),
            now: Instant::now(),
        }
    }

    /// Lets moto answer `answer`; returns the version and the status, or the code of the rejection.
    fn call(
        &mut self,
        action: &str,
        if_match: Option<&str>,
        sent: &str,
        answer: &str,
    ) -> Result<(String, String), String> {
        let id = (!action.starts_with("Create")).then(|| "E1".to_owned());
        let call = Call {
            service: Service::CloudFront,
            action: action.to_owned(),
            region: String::new(),
            resource: id,
        };
        let mut headers = HeaderMap::new();
        if let Some(etag) = if_match {
            headers.insert(IF_MATCH, etag.parse().unwrap());
        }
        let request = Request {
            call: &call,
            headers: &headers,
            body: sent.as_bytes(),
            now: self.now,
        };
        if let Some(error) = self.distributions.before(&request) {
            return Err(error.code);
        }
        let mut moto = HeaderMap::new();
        moto.insert(ETAG, HeaderValue::from_static("M"));
        let mut reply = Reply {
            status: StatusCode::OK,
            headers: moto,
            body: answer.to_owned().into(),
        };
        self.distributions.after(&request, &mut reply);
        let status = Element::parse(reply.text())
            .and_then(|root| root.child("Status").map(|status| status.text().to_owned()))
            .unwrap_or_default();
        Ok((reply.headers[ETAG].to_str().unwrap().to_owned(), status))
    }
}

#[test]
fn a_change_requires_the_latest_etag() {
    let mut fixture = Fixture::new(Settle::AtOnce);
    let (first, _) = fixture
        .call(
            "CreateDistribution",
            None,
            &config(true),
            &answered(&config(true)),
        )
        .unwrap();
    let change = config(false);
    let answer = answered(&change);
    assert_eq!(
        fixture.call("UpdateDistribution", None, &change, &answer),
        Err("InvalidIfMatchVersion".to_owned())
    );
    let (second, _) = fixture
        .call("UpdateDistribution", Some(&first), &change, &answer)
        .unwrap();
    assert_ne!(first, second);
    assert_eq!(
        fixture.call("UpdateDistribution", Some(&first), &change, &answer),
        Err("PreconditionFailed".to_owned())
    );
    let (seen, _) = fixture.call("GetDistribution", None, "", &answer).unwrap();
    assert_eq!(seen, second);
}

#[test]
fn every_change_is_in_progress_for_a_while() {
    let mut fixture = Fixture::new(Settle::Reads(1));
    let answer = answered(&config(true));
    let (etag, status) = fixture
        .call("CreateDistribution", None, &config(true), &answer)
        .unwrap();
    assert_eq!(status, "InProgress");
    assert_eq!(
        fixture.call("GetDistribution", None, "", &answer).unwrap().1,
        "InProgress"
    );
    assert_eq!(
        fixture.call("GetDistribution", None, "", &answer).unwrap().1,
        "Deployed"
    );
    let (_, status) = fixture
        .call("UpdateDistribution", Some(&etag), &config(true), &answer)
        .unwrap();
    assert_eq!(status, "InProgress");
}

#[test]
fn deletion_requires_disabled_and_deployed() {
    let mut fixture = Fixture::new(Settle::Reads(1));
    let answer = answered(&config(true));
    let (etag, _) = fixture
        .call("CreateDistribution", None, &config(true), &answer)
        .unwrap();
    assert_eq!(
        fixture.call("DeleteDistribution", Some(&etag), "", ""),
        Err("DistributionNotDisabled".to_owned())
    );
    let disabled = answered(&config(false));
    let (etag, _) = fixture
        .call("UpdateDistribution", Some(&etag), &config(false), &disabled)
        .unwrap();
    assert_eq!(
        fixture.call("DeleteDistribution", Some(&etag), "", ""),
        Err("PreconditionFailed".to_owned())
    );
    fixture.call("GetDistribution", None, "", &disabled).unwrap();
    assert!(fixture.call("DeleteDistribution", Some(&etag), "", "").is_ok());
}

#[test]
fn the_caller_reference_cannot_change() {
    let mut fixture = Fixture::new(Settle::AtOnce);
    let answer = answered(&config(true));
    let (etag, _) = fixture
        .call("CreateDistribution", None, &config(true), &answer)
        .unwrap();
    let other = config(true).replace(">r<", ">s<");
    assert_eq!(
        fixture.call("UpdateDistribution", Some(&etag), &other, &answer),
        Err("IllegalUpdate".to_owned())
    );
}

#[test]
fn dropped_fields_are_restored_and_defaults_kept() {
    let sent = Element::parse(
        "<DistributionConfig><Origins><Items><Origin><Id>o</Id><OriginAccessControlId>E9</OriginAccessControlId>\
         <S3OriginConfig><OriginAccessIdentity></OriginAccessIdentity></S3OriginConfig></Origin></Items></Origins>\
         <DefaultCacheBehavior><CachePolicyId>p</CachePolicyId></DefaultCacheBehavior>\
         <Aliases><Items><CNAME>a</CNAME><CNAME>b</CNAME></Items></Aliases></DistributionConfig>",
    )
    .unwrap();
    let mut answered = Element::parse(
        "<DistributionConfig><Origins><Items><Origin><Id>o</Id><ConnectionAttempts>3</ConnectionAttempts>\
         </Origin></Items></Origins><DefaultCacheBehavior><CachePolicyId></CachePolicyId><MinTTL>0</MinTTL>\
         <Compress>true</Compress></DefaultCacheBehavior><Aliases><Items><CNAME>a</CNAME><CNAME>b</CNAME></Items>\
         </Aliases><PriceClass>PriceClass_All</PriceClass></DistributionConfig>",
    )
    .unwrap();
    config::restore(&mut answered, &sent);
    let expected = "<DistributionConfig><Origins><Items><Origin><Id>o</Id><ConnectionAttempts>3</ConnectionAttempts>\
         <OriginAccessControlId>E9</OriginAccessControlId><S3OriginConfig><OriginAccessIdentity/></S3OriginConfig>\
         </Origin></Items></Origins><DefaultCacheBehavior><CachePolicyId>p</CachePolicyId><Compress>true</Compress>\
         </DefaultCacheBehavior><Aliases><Items><CNAME>b</CNAME><CNAME>a</CNAME></Items></Aliases>\
         <PriceClass>PriceClass_All</PriceClass></DistributionConfig>";
    assert_eq!(answered, Element::parse(expected).unwrap());
}
