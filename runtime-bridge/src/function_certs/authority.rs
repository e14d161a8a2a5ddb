//! The authority that signs for functions and the bridge, and what it signs.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::civil::Date;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::WebPkiClientVerifier,
};

use super::files::write;

/// The authority's files.
pub const CERTIFICATE: &str = "ca.crt";
const KEY: &str = "ca.key";

/// Why certificates were not written.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Standard output cannot be written; the files are.
    #[error("cannot print what was written: {0}")]
    Output(io::Error),
    /// A file of the authority cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// The authority's key is elsewhere.
    #[error(
        "{} has {CERTIFICATE} and no {KEY}: put the key of this authority there, or choose another folder with --dir for a new authority",
        .0.display()
    )]
    NoKey(PathBuf),
    /// The files of the authority are no authority.
    #[error("cannot sign with {CERTIFICATE} and {KEY} in {}: {why}; --dir with another folder creates a new authority", folder.display())]
    Authority {
        /// Where they are.
        folder: PathBuf,
        /// What is wrong with them.
        why: String,
    },
    /// A certificate cannot be created.
    #[error("cannot create the certificate of {name}: {cause}")]
    Create {
        /// Whose it is.
        name: String,
        /// The library's error.
        cause: rcgen::Error,
    },
}

/// What a certificate is for.
pub enum Purpose<'a> {
    /// A server that is reached by these hosts.
    Server(&'a [String]),
    /// A client.
    Client,
}

/// A certificate with its private key, both PEM.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

/// Signs for functions and the bridge.
pub struct Authority {
    certificate: String,
    key: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub fn create(from: Date, until: Date) -> Result<Self, CertificateError> {
        let failed = |cause| CertificateError::Create {
            name: "the authority".to_owned(),
            cause,
        };
        let params = ca_params(from, until).map_err(failed)?;
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Self {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            issuer: Issuer::new(params, key),
        })
    }

    /// The one that a folder holds; `None`: none.
    pub fn read(folder: &Path) -> Result<Option<Self>, CertificateError> {
        let Some(certificate) = text(&folder.join(CERTIFICATE))? else {
            return Ok(None);
        };
        let Some(key) = text(&folder.join(KEY))? else {
            return Err(CertificateError::NoKey(folder.to_owned()));
        };
        let unusable = |why: String| CertificateError::Authority {
            folder: folder.to_owned(),
            why,
        };
        let pair = KeyPair::from_pem(&key).map_err(|error| unusable(format!("{KEY}: {error}")))?;
        // Of the certificate its subject alone counts, which is always the same: one of another subject fails the check.
        let any = date(2020, 1, 1);
        let params = ca_params(any, any).map_err(|error| unusable(error.to_string()))?;
        let issuer = Issuer::new(params, pair);
        let authority = Self {
            certificate,
            key,
            issuer,
        };
        authority.check().map_err(unusable)?;
        Ok(Some(authority))
    }

    /// First the key: without the certificate it is nobody's, and what stands in the other order is an authority that cannot sign.
    pub fn store(&self, folder: &Path) -> Result<(), CertificateError> {
        write(&folder.join(KEY), &self.key, true)?;
        write(&folder.join(CERTIFICATE), &self.certificate, false)
    }

    /// PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A new key and a certificate for it.
    pub fn sign(
        &self,
        name: &str,
        purpose: &Purpose,
        from: Date,
        until: Date,
    ) -> Result<Pair, CertificateError> {
        let failed = |cause| CertificateError::Create {
            name: name.to_owned(),
            cause,
        };
        let mut params = params(name, from, until).map_err(failed)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        params.extended_key_usages = vec![match purpose {
            Purpose::Server(hosts) => {
                params.subject_alt_names = CertificateParams::new(hosts.to_vec())
                    .map_err(failed)?
                    .subject_alt_names;
                ExtendedKeyUsagePurpose::ServerAuth
            }
            Purpose::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Whether what the key signs is trusted by who has the certificate.
    fn check(&self) -> Result<(), String> {
        let trial = self
            .sign("trial", &Purpose::Client, date(2020, 1, 1), date(9000, 1, 1))
            .map_err(|error| error.to_string())?;
        let der =
            |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string());
        let mut roots = RootCertStore::empty();
        roots
            .add(der(&self.certificate)?)
            .map_err(|error| format!("{CERTIFICATE}: {error}"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map_err(|error| error.to_string())?;
        let trusted = verifier.verify_client_cert(&der(&trial.certificate)?, &[], UnixTime::now());
        match trusted {
            Ok(_) => Ok(()),
            Err(error) => Err(format!(
                "they do not belong together, or this command did not create them: {error}"
            )),
        }
    }
}

fn date(year: i16, month: i8, day: i8) -> Date {
    jiff::civil::date(year, month, day)
}

fn ca_params(from: Date, until: Date) -> Result<CertificateParams, rcgen::Error> {
    let mut params = params("crossbridge functions", from, until)?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
    ];
    Ok(params)
}

fn params(name: &str, from: Date, until: Date) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    let at = |date: Date| {
        date_time_ymd(
            date.year().into(),
            date.month().unsigned_abs(),
            date.day().unsigned_abs(),
        )
    };
    params.not_before = at(from);
    params.not_after = at(until);
    Ok(params)
}

/// `None`: there is no such file.
fn text(path: &Path) -> Result<Option<String>, CertificateError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(CertificateError::Read {
            path: path.to_owned(),
            cause,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Authority {
        Authority::create(date(2020, 1, 1), date(4000, 1, 1)).unwrap()
    }

    #[test]
    fn an_authority_is_read_as_it_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Authority::read(folder.path()).unwrap().is_none());
        let authority = new();
        authority.store(folder.path()).unwrap();
        let read = Authority::read(folder.path()).unwrap().unwrap();
        assert_eq!(read.certificate, authority.certificate);
        assert_eq!(read.key, authority.key);
    }

    #[test]
    fn files_that_are_no_authority_are_rejected_by_reason() {
        let folder = tempfile::tempdir().unwrap();
        let why = || Authority::read(folder.path()).err().unwrap().to_string();
        new().store(folder.path()).unwrap();
        fs::write(folder.path().join(KEY), new().key).unwrap();
        assert!(why().contains("they do not belong together"), "{}", why());
        fs::write(folder.path().join(KEY), "no key").unwrap();
        assert!(why().contains("ca.key: "), "{}", why());
        fs::remove_file(folder.path().join(KEY)).unwrap();
        assert!(why().contains("has ca.crt and no ca.key"), "{}", why());
    }

    #[test]
    fn keys_are_readable_by_their_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        new().store(folder.path()).unwrap();
        let mode = |name| {
            fs::metadata(folder.path().join(name))
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!((mode(KEY), mode(CERTIFICATE)), (0o600, 0o644));
    }
}
