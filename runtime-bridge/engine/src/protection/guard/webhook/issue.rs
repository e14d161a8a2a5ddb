//! A new pair, and an authority for it alone.

use std::time::Duration;

use bridge_core::protection::guard::{Pair, Validity};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// Clocks differ.
const SKEW: Duration = Duration::from_mins(5);

/// For a server of these hosts. The key of the authority is thrown away.
pub(super) fn issue(hosts: &[String], from: Timestamp, life: Duration) -> Result<Pair, String> {
    let until = from.checked_add(life).map_err(|error| error.to_string())?;
    let validity = Validity { from, until };
    signed(hosts, validity)
        .map_err(|error| format!("cannot create the certificate of the usage webhook: {error}"))
}

fn signed(hosts: &[String], validity: Validity) -> Result<Pair, rcgen::Error> {
    let mut authority = params(Vec::new(), "crossbridge usages", validity)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    let authority_key = KeyPair::generate()?;
    let authority_certificate = authority.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(authority, authority_key);

    let name = hosts.first().map_or("", String::as_str);
    let mut server = params(hosts.to_vec(), name, validity)?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &issuer)?.pem();
    Ok(Pair {
        authority: authority_certificate,
        certificate,
        key: key.serialize_pem(),
        hosts: hosts.to_vec(),
        validity,
    })
}

fn params(hosts: Vec<String>, name: &str, validity: Validity) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(hosts)?;
    params.distinguished_name = DistinguishedName::new();
    // A common name has no more than 64 characters.
    params
        .distinguished_name
        .push(DnType::CommonName, name.chars().take(64).collect::<String>());
    let at = |time: Timestamp| {
        let since = Duration::try_from(time.duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + since
    };
    params.not_before = at(validity.from) - SKEW;
    params.not_after = at(validity.until);
    Ok(params)
}
