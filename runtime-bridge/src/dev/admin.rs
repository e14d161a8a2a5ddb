//! Where the bridge of `dev` answers: known before it runs, the same whenever it is started again, and found by `trace`.

use std::{
    env,
    ffi::OsString,
    fs, io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::Path,
};

use crate::admin::ADDRESS_FILE;

/// The variable by which `serve` finds it.
pub const VARIABLE: &str = "CROSSBRIDGE_ADMIN_ADDRESS";
const FLAG: &str = "--admin-address";

/// That of the flags for the bridge, else of the environment, else a free port.
pub fn choose(serve_flags: &[OsString]) -> io::Result<SocketAddr> {
    let given = flag(serve_flags).or_else(|| env::var(VARIABLE).ok());
    match given.and_then(|address| address.parse().ok()) {
        Some(address) => Ok(address),
        None => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr(),
    }
}

fn flag(serve_flags: &[OsString]) -> Option<String> {
    let mut flags = serve_flags.iter().filter_map(|flag| flag.to_str());
    while let Some(flag) = flags.next() {
        if flag == FLAG {
            return flags.next().map(str::to_owned);
        }
        if let Some(value) = flag.strip_prefix(FLAG).and_then(|rest| rest.strip_prefix('=')) {
            return Some(value.to_owned());
        }
    }
    None
}

/// For `runtime-bridge trace`, which has the kubeconfig.
pub fn write(kubeconfig: &Path, address: SocketAddr) -> io::Result<()> {
    fs::write(kubeconfig.with_file_name(ADDRESS_FILE), format!("{address}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_for_the_bridge_chooses_the_address() {
        let chosen = |flags: &[&str]| {
            let flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
            flag(&flags)
        };
        assert_eq!(
            chosen(&["--poll", "1s", "--admin-address", "127.0.0.1:1"]).as_deref(),
            Some("127.0.0.1:1")
        );
        assert_eq!(
            chosen(&["--admin-address=127.0.0.1:2"]).as_deref(),
            Some("127.0.0.1:2")
        );
        assert_eq!(chosen(&["--poll=1s"]), None);
    }
}
