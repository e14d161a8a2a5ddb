//! Certificates for a plugin that is asked to serve with mutual TLS: created anew each time, deleted with their folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

use crate::endpoint::TlsFiles;

/// Where such a plugin serves.
const HOST: &str = "127.0.0.1";

/// All PEM files of one plugin and its clients.
#[derive(Debug)]
pub struct Certificates {
    /// Of the plugin: the variables that name them.
    pub plugin: [(&'static str, PathBuf); 3],
    /// Of a client that the plugin's authority has signed.
    pub client: TlsFiles,
    /// Of one that another authority has signed.
    pub untrusted: TlsFiles,
}

impl Certificates {
    /// Generates them in this folder.
    pub fn generate(folder: &Path) -> io::Result<Self> {
        let ours = authority().map_err(io::Error::other)?;
        let other = authority().map_err(io::Error::other)?;
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).map(|()| path)
        };
        let signed = |name: &str, by: &CertifiedIssuer<'static, KeyPair>| -> io::Result<_> {
            let (certificate, key) = signed(by).map_err(io::Error::other)?;
            Ok((
                write(&format!("{name}.crt"), certificate)?,
                write(&format!("{name}.key"), key)?,
            ))
        };
        let ca = write("ca.crt", ours.pem())?;
        let (certificate, key) = signed("plugin", &ours)?;
        let files = |(certificate, key)| TlsFiles {
            ca: ca.clone(),
            certificate,
            key,
        };
        Ok(Self {
            client: files(signed("client", &ours)?),
            untrusted: files(signed("stranger", &other)?),
            plugin: [
                ("PROVIDER_PLUGIN_TLS_CERT", certificate),
                ("PROVIDER_PLUGIN_TLS_KEY", key),
                ("PROVIDER_PLUGIN_TLS_CA", ca.clone()),
            ],
        })
    }
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, rcgen::Error> {
    let mut parameters = named("conformance authority", Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)
}

/// A certificate and its key, for either side.
fn signed(by: &CertifiedIssuer<'static, KeyPair>) -> Result<(String, String), rcgen::Error> {
    let key = KeyPair::generate()?;
    let parameters = named("conformance", vec![HOST.to_owned()])?;
    let certificate = parameters.signed_by(&key, by)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

/// Two of one name, one of which signed the other, look self-signed to some.
fn named(name: &str, hosts: Vec<String>) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(hosts)?;
    parameters.distinguished_name.push(DnType::CommonName, name);
    Ok(parameters)
}

/// An address that is not served at the moment.
pub fn free_address() -> io::Result<String> {
    let probe = std::net::TcpListener::bind((HOST, 0))?;
    Ok(format!("https://{}", probe.local_addr()?))
}
