//! The test programs of the workspace, as cargo built them.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// One test program: the unit tests of a crate or binary, or a folder of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestProgram {
    /// The name of the crate.
    pub(crate) package: String,
    /// The target: `bridge_core` for the unit tests of that library, `model` for `tests/model`.
    pub(crate) target: String,
    /// Whether it holds unit tests rather than those of a folder `tests`.
    pub(crate) is_unit: bool,
    /// Path of the program.
    pub(crate) executable: PathBuf,
    /// The folder of the crate, where cargo too would start it.
    pub(crate) folder: PathBuf,
}

impl TestProgram {
    /// `bridge-sim model`, or `bridge-core unit`.
    pub(crate) fn name(&self) -> String {
        if self.is_unit && self.target.replace('_', "-") == self.package {
            format!("{} unit", self.package)
        } else {
            format!("{} {}", self.package, self.target)
        }
    }
}

/// From cargo's messages, one a line.
pub(crate) fn programs(messages: &str) -> Vec<TestProgram> {
    let mut programs: Vec<TestProgram> = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter_map(|message| program(&message))
        .collect();
    programs.sort_by_key(TestProgram::name);
    programs
}

fn program(message: &Value) -> Option<TestProgram> {
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let target = &message["target"];
    let manifest = Path::new(message["manifest_path"].as_str()?);
    Some(TestProgram {
        package: package(message["package_id"].as_str()?)?.to_owned(),
        target: target["name"].as_str()?.to_owned(),
        is_unit: target["kind"][0] != "test",
        executable: message["executable"].as_str()?.into(),
        folder: manifest.parent()?.to_owned(),
    })
}

/// `path+file:///work/runtime-bridge/core#bridge-core@0.1.0`, or without the name where the folder has it.
fn package(id: &str) -> Option<&str> {
    let (path, fragment) = id.rsplit_once('#')?;
    match fragment.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit('/').next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_read_from_the_messages_of_cargo() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"path+file:///x/core#bridge-core@0.1.0","manifest_path":"/x/core/Cargo.toml","target":{"kind":["lib"],"name":"bridge_core"},"profile":{"test":true},"executable":"/x/target/debug/deps/bridge_core-1"}
{"reason":"compiler-artifact","package_id":"path+file:///x/core#bridge-core@0.1.0","manifest_path":"/x/core/Cargo.toml","target":{"kind":["lib"],"name":"bridge_core"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///x/xtask#0.1.0","manifest_path":"/x/xtask/Cargo.toml","target":{"kind":["bin"],"name":"xtask"},"profile":{"test":true},"executable":"/x/target/debug/deps/xtask-1"}
{"reason":"compiler-artifact","package_id":"path+file:///x/sim#bridge-sim@0.1.0","manifest_path":"/x/sim/Cargo.toml","target":{"kind":["test"],"name":"model"},"profile":{"test":true},"executable":"/x/target/debug/deps/model-1"}
not json
"#;
        let found = programs(messages);
        let names: Vec<String> = found.iter().map(TestProgram::name).collect();
        assert_eq!(names, ["bridge-core unit", "bridge-sim model", "xtask unit"]);
        assert!(found[0].is_unit && !found[1].is_unit);
        assert_eq!(found[1].folder, Path::new("/x/sim"));
        assert_eq!(found[1].executable, Path::new("/x/target/debug/deps/model-1"));
    }
}
