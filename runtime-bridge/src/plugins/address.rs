//! Where a plugin listens, and what the operator says of it.

use std::str::FromStr;

use bridge_plugin::{Endpoint, EndpointError};
use crossbridge_types::{Violation, check, limits};

/// What an operator may let an answer have, in MiB.
const MOST_MEBIBYTES: usize = 64;

/// Where a plugin listens, and what it must be called: `unix:///path`, or `NAME=unix:///path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginAddress {
    /// What it must call itself; `None`: whatever it likes.
    pub name: Option<String>,
    /// Where it listens.
    pub endpoint: Endpoint,
}

/// What belongs to one plugin: `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfPlugin<T> {
    /// The plugin's name.
    pub plugin: String,
    /// What belongs to it.
    pub value: T,
}

/// A text that is no address of a plugin.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// What follows the name, or stands alone.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// What stands before `=`.
    #[error("the plugin's {0}")]
    Name(Violation),
    /// There is no `=`, or nothing usable behind it.
    #[error("write NAME={0}, with the plugin's name")]
    NotNamed(&'static str),
}

impl FromStr for PluginAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        match text.split_once('=') {
            // The path of a socket may hold one.
            Some((plugin, endpoint)) if !plugin.contains("://") => Ok(Self {
                name: Some(name(plugin)?),
                endpoint: endpoint.parse()?,
            }),
            _ => Ok(Self {
                name: None,
                endpoint: text.parse()?,
            }),
        }
    }
}

impl From<Endpoint> for PluginAddress {
    fn from(endpoint: Endpoint) -> Self {
        Self { name: None, endpoint }
    }
}

/// `NAME=UID`.
pub fn user(text: &str) -> Result<OfPlugin<u32>, AddressError> {
    let (plugin, value) = text.split_once('=').ok_or(AddressError::NotNamed("UID"))?;
    Ok(OfPlugin {
        plugin: name(plugin)?,
        value: value.parse().map_err(|_| AddressError::NotNamed("UID"))?,
    })
}

/// `NAME=MIB`, as bytes.
pub fn mebibytes(text: &str) -> Result<OfPlugin<usize>, AddressError> {
    const FORM: AddressError = AddressError::NotNamed("MIB, from 4 to 64");
    let (plugin, value) = text.split_once('=').ok_or(FORM)?;
    let mebibytes: usize = value.parse().map_err(|_| FORM)?;
    if !(limits::ANSWER >> 20..=MOST_MEBIBYTES).contains(&mebibytes) {
        return Err(FORM);
    }
    Ok(OfPlugin {
        plugin: name(plugin)?,
        value: mebibytes << 20,
    })
}

/// `NAME=GROUP`.
pub fn group(text: &str) -> Result<OfPlugin<String>, AddressError> {
    let (plugin, value) = text.split_once('=').ok_or(AddressError::NotNamed("GROUP"))?;
    check::api_group(value, "group").map_err(AddressError::Name)?;
    Ok(OfPlugin {
        plugin: name(plugin)?,
        value: value.to_owned(),
    })
}

fn name(text: &str) -> Result<String, AddressError> {
    check::dns_subdomain(text, check::LABEL_LIMIT, "name").map_err(AddressError::Name)?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_say_what_its_plugin_is_called() {
        let read = |text: &str| {
            let address: PluginAddress = text.parse().unwrap();
            (address.name, address.endpoint.to_string())
        };
        assert_eq!(
            read("unix:///run/a=b.sock"),
            (None, "unix:///run/a=b.sock".to_owned())
        );
        assert_eq!(
            read("aws.crossbridge.dev=unix:///run/a.sock"),
            (
                Some("aws.crossbridge.dev".to_owned()),
                "unix:///run/a.sock".to_owned()
            )
        );
        for wrong in ["AWS=unix:///run/a.sock", "=unix:///run/a.sock", "aws=", "aws"] {
            assert!(wrong.parse::<PluginAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_belongs_to_a_plugin_names_it() {
        assert_eq!(user("aws.example.org=65533").unwrap().value, 65533);
        assert_eq!(
            group("aws.example.org=cloud.example.com").unwrap().value,
            "cloud.example.com"
        );
        for wrong in ["65533", "aws=", "aws=x", "A=1"] {
            assert!(user(wrong).is_err(), "{wrong}");
        }
        assert!(group("aws=Cloud").is_err());
        assert_eq!(mebibytes("aws.example.org=16").unwrap().value, 16 << 20);
        for wrong in ["16", "aws=3", "aws=65", "aws=16Mi"] {
            assert!(mebibytes(wrong).is_err(), "{wrong}");
        }
    }
}
