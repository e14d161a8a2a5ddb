//! The state file: what a tool needs to know about the processes.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use parking_lot::Mutex;
use serde::Serialize;

/// Keeps the state file up to date, if one is wanted.
#[derive(Debug)]
pub struct StateFile {
    path: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Serialize)]
struct State {
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    /// The admin endpoint of the bridge.
    admin: String,
    /// By the name that is printed: `bridge`, `plugin` or `plugin 1`, `plugin 2`.
    processes: BTreeMap<String, Running>,
}

#[derive(Debug, Default, Serialize)]
struct Running {
    pid: u32,
    /// How often it was started; the process id is that of the last start.
    starts: u32,
}

impl StateFile {
    pub fn new(path: Option<PathBuf>, kubeconfig: &Path, kubectl: &Path, admin: SocketAddr) -> Self {
        let state = State {
            kubeconfig: kubeconfig.to_owned(),
            kubectl: kubectl.to_owned(),
            admin: format!("http://{admin}"),
            processes: BTreeMap::new(),
        };
        Self {
            path,
            state: Mutex::new(state),
        }
    }

    /// A process was started.
    pub fn started(&self, name: &str, pid: u32) -> io::Result<()> {
        let mut state = self.state.lock();
        let running = state.processes.entry(name.to_owned()).or_default();
        *running = Running {
            pid,
            starts: running.starts + 1,
        };
        match &self.path {
            Some(path) => write(path, &state),
            None => Ok(()),
        }
    }
}

/// Whole or not at all, for whoever reads it meanwhile.
fn write(path: &Path, state: &State) -> io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    fs::write(&unfinished, serde_json::to_vec_pretty(state)?)?;
    fs::rename(unfinished, path)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_state_file_names_the_last_start_of_each_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        let file = StateFile::new(
            Some(path.clone()),
            Path::new("/k/config"),
            Path::new("/k/kubectl"),
            "127.0.0.1:8081".parse().unwrap(),
        );
        file.started("bridge", 10).unwrap();
        file.started("plugin", 11).unwrap();
        file.started("plugin", 12).unwrap();
        let state: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let expected = json!({
            "kubeconfig": "/k/config",
            "kubectl": "/k/kubectl",
            "admin": "http://127.0.0.1:8081",
            "processes": {"bridge": {"pid": 10, "starts": 1}, "plugin": {"pid": 12, "starts": 2}},
        });
        assert_eq!(state, expected);
    }
}
