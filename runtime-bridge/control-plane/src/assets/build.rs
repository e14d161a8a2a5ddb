use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use super::AssetsError;
use crate::cache::CacheError;
use crate::process::{Output, ScratchDir, Spawn};

const GO_MOD: &str = include_str!("../../go/go.mod");
const GO_SUM: &str = include_str!("../../go/go.sum");

/// The packages whose binaries are named after the last part of their path; etcd's is not.
const KUBERNETES: [&str; 3] = [
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "k8s.io/kubernetes/cmd/kubectl",
];
const ETCD: &str = "go.etcd.io/etcd/server/v3";
/// Binaries without symbols and without a path of this machine; `-v` reports how far the build is.
const FLAGS: [&str; 4] = ["build", "-mod=readonly", "-trimpath", "-v"];
const LINKING: &str = "-s -w -X k8s.io/component-base/version.gitVersion=";

/// `GOGC`, unless the user sets another: each compiler lives for a moment, so that collecting its garbage is mostly processor time lost.
const COMPILERS_GARBAGE: &str = "400";

/// How often the build reports how far it is.
const REPORT_EVERY: Duration = Duration::from_secs(20);
const LAST_LINES: usize = 30;

/// The name of the cache entry: another pin, another way to build or another platform is another entry.
pub(super) fn cache_name() -> String {
    let mut hash = Sha256::new();
    let platform = [std::env::consts::OS, std::env::consts::ARCH];
    for part in [GO_MOD, GO_SUM, ETCD, LINKING]
        .iter()
        .chain(&KUBERNETES)
        .chain(&FLAGS)
        .chain(&platform)
    {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let digest = u64::from_le_bytes(std::array::from_fn(|place| digest[place]));
    format!("control-plane-{}-{digest:016x}", kubernetes_version())
}

/// The Go version that the module asks for.
pub(super) fn go_version() -> &'static str {
    pin("go ")
}

fn kubernetes_version() -> &'static str {
    pin("k8s.io/kubernetes ")
}

/// The word that follows `name` on the line of `go.mod` that starts with it.
fn pin(name: &str) -> &'static str {
    let rest = GO_MOD.lines().find_map(|line| line.trim().strip_prefix(name));
    rest.and_then(|rest| rest.split_whitespace().next())
        .unwrap_or("unknown")
}

/// Builds all four binaries into a folder.
pub(super) async fn into_folder(folder: &Path) -> Result<(), AssetsError> {
    let unwritable = |cause| {
        AssetsError::Cache(CacheError::Unusable {
            path: folder.to_owned(),
            cause,
        })
    };
    let module = ScratchDir::new("crossbridge-go-").map_err(unwritable)?;
    fs::write(module.path().join("go.mod"), GO_MOD).map_err(unwritable)?;
    fs::write(module.path().join("go.sum"), GO_SUM).map_err(unwritable)?;
    eprintln!(
        "building kube-apiserver, kube-controller-manager and kubectl {} and etcd from source: once, some minutes",
        kubernetes_version()
    );
    let begun = Instant::now();
    go_build(module.path(), begun, folder, &KUBERNETES).await?;
    go_build(module.path(), begun, &folder.join("etcd"), &[ETCD]).await?;
    eprintln!("built the control plane in {} s", begun.elapsed().as_secs());
    Ok(())
}

async fn go_build(
    module: &Path,
    begun: Instant,
    output: &Path,
    packages: &[&str],
) -> Result<(), AssetsError> {
    let said = Arc::new(Mutex::new(BuildOutput::default()));
    let garbage = std::env::var("GOGC").unwrap_or_else(|_| COMPILERS_GARBAGE.to_owned());
    let go = Spawn::new("go")
        .args(FLAGS)
        .args(["-ldflags", &format!("{LINKING}{}", kubernetes_version()), "-o"])
        .arg(output)
        .args(packages)
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env("GOGC", &garbage)
        .stdout(Output::Null)
        .stderr(Output::lines({
            let said = Arc::clone(&said);
            move |line| said.lock().unwrap_or_else(PoisonError::into_inner).add(line)
        }))
        .spawn()
        .map_err(|error| AssetsError::NoGo {
            cause: error.to_string(),
        })?;
    let status = loop {
        if let Ok(status) = go.wait_for(REPORT_EVERY).await {
            break status;
        }
        let lines = said.lock().unwrap_or_else(PoisonError::into_inner).lines;
        eprintln!(
            "building the control plane: {} s, {lines} packages",
            begun.elapsed().as_secs()
        );
    };
    if status.success() {
        return Ok(());
    }
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let last_lines = said
        .last
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join("\n");
    Err(AssetsError::Build {
        status: status.to_string(),
        last_lines,
    })
}

/// What `go build -v` said: a line for each package that it compiles or downloads, and its errors.
#[derive(Default)]
struct BuildOutput {
    lines: usize,
    last: VecDeque<String>,
}

impl BuildOutput {
    fn add(&mut self, line: &str) {
        self.lines += 1;
        if self.last.len() == LAST_LINES {
            self.last.pop_front();
        }
        self.last.push_back(line.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_read_from_the_module() {
        assert!(
            kubernetes_version().starts_with("v1."),
            "{}",
            kubernetes_version()
        );
        assert!(go_version().starts_with("1."), "{}", go_version());
        assert!(cache_name().starts_with("control-plane-v1."), "{}", cache_name());
    }
}
