//! `runtime-bridge function-certs`: certificates for the bridge and composition functions that it reaches over mutual TLS.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod authority;
mod files;

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::{Timestamp, ToSpan, tz::TimeZone};

pub use self::authority::CertificateError;
use self::{
    authority::{Authority, Pair, Purpose},
    files::write,
};
use crate::output::print;

/// The bridge's folder.
const BRIDGE: &str = "bridge";
/// Of the authority. Pairs are renewed; it stays.
const CA_YEARS: i16 = 10;

/// Which function gets certificates, and where they are written.
#[derive(Debug, Args)]
pub struct FunctionCertsArgs {
    /// The function; its files are put into a folder of this name, beside those of the bridge.
    #[arg(value_name = "NAME", value_parser = folder_name)]
    pub name: String,
    /// Host by which the bridge reaches the function, as in its endpoint: a DNS name or an IP address. Can be given more than once; in the
    /// environment variable they are separated by commas.
    #[arg(long, value_name = "HOST", value_delimiter = ',', default_value = "localhost")]
    pub host: Vec<String>,
    /// Folder of all files. The certificate authority in it is kept; without one, one is created.
    #[arg(long, value_name = "DIR", default_value = "tls")]
    pub dir: PathBuf,
    /// For how many days the certificates of function and bridge are valid. Run the command again to renew them.
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = 90,
        value_parser = clap::value_parser!(u16).range(1..=825)
    )]
    pub days: u16,
}

/// One part of a path, and neither the bridge's nor one that hides.
fn folder_name(name: &str) -> Result<String, String> {
    let is_name = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if name == BRIDGE {
        Err("this folder is the bridge's".to_owned())
    } else if name.is_empty() || name.starts_with('.') || !is_name {
        Err("write letters, digits, '-', '_' and '.'".to_owned())
    } else {
        Ok(name.to_owned())
    }
}

/// Writes the pairs of function and bridge, and the authority if there is none.
pub fn run(args: &FunctionCertsArgs) -> Result<(), CertificateError> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    // Clocks differ.
    let from = today.saturating_sub(1.days());
    let (authority, is_new) = match Authority::read(&args.dir)? {
        Some(authority) => (authority, false),
        None => (
            Authority::create(from, today.saturating_add(CA_YEARS.years()))?,
            true,
        ),
    };
    if is_new {
        authority.store(&args.dir)?;
        let file = args.dir.join(authority::CERTIFICATE);
        print(&format!(
            "{}: created, valid for {CA_YEARS} years\n",
            file.display()
        ))
        .map_err(CertificateError::Output)?;
    }
    let until = today.saturating_add(i64::from(args.days).days());
    let function = authority.sign(&args.name, &Purpose::Server(&args.host), from, until)?;
    let bridge = authority.sign(BRIDGE, &Purpose::Client, from, until)?;
    let (function_dir, bridge_dir) = (args.dir.join(&args.name), args.dir.join(BRIDGE));
    store(&function_dir, &authority, &function)?;
    store(&bridge_dir, &authority, &bridge)?;
    let hosts = args.host.join(", ");
    let text = format!(
        "{}: for the function at {hosts}: --tls-certs-dir\n{}: for the bridge: --function-tls-dir\n\
         both are valid until {until}; this command renews them\n",
        function_dir.display(),
        bridge_dir.display()
    );
    print(&text).map_err(CertificateError::Output)
}

/// First the key: who reads a new certificate finds its key.
fn store(folder: &Path, authority: &Authority, pair: &Pair) -> Result<(), CertificateError> {
    write(&folder.join("ca.crt"), authority.certificate(), false)?;
    write(&folder.join("tls.key"), &pair.key, true)?;
    write(&folder.join("tls.crt"), &pair.certificate, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_a_folder_of_its_own_name() {
        assert_eq!(
            folder_name("function-a.example"),
            Ok("function-a.example".to_owned())
        );
        for name in ["", ".", "..", "a/b", BRIDGE, ".hidden"] {
            assert!(folder_name(name).is_err(), "{name:?}");
        }
    }
}
