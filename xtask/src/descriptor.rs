//! The contract's descriptor set in a file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Failure;
use crate::project::Project;
use crate::run::{cargo, output};

/// What the build script of `crossbridge-proto` writes, and the crate embeds for reflection.
const FILE: &str = "descriptor_set.bin";

pub(crate) async fn run(file: &Path) -> Result<(), Failure> {
    let project = Project::find().await?;
    let messages = output(cargo(&project.root).args([
        "build",
        "--package=crossbridge-proto",
        "--locked",
        "--message-format=json-render-diagnostics",
    ]))
    .await?;
    let built = built_by(&messages)
        .ok_or_else(|| Failure::new("cargo did not report where the contract's descriptor set is"))?
        .join(FILE);
    fs::copy(&built, file)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))?;
    println!("{}", file.display());
    Ok(())
}

/// The folder that the build script of `crossbridge-proto` wrote to, from cargo's messages, one a line.
fn built_by(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "build-script-executed")
        .find(|message| {
            message["package_id"]
                .as_str()
                .is_some_and(|id| id.contains("crossbridge-proto"))
        })
        .and_then(|message| message["out_dir"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_the_right_build_script_is_found() {
        let messages = r#"
{"reason":"compiler-artifact","package_id":"path+file:///x/proto#crossbridge-proto@0.1.0"}
{"reason":"build-script-executed","package_id":"registry+x#ring@0.17.0","out_dir":"/ring/out"}
{"reason":"build-script-executed","package_id":"path+file:///x/proto#crossbridge-proto@0.1.0","out_dir":"/proto/out"}
not json
"#;
        assert_eq!(built_by(messages).as_deref(), Some(Path::new("/proto/out")));
        assert_eq!(built_by(""), None);
    }
}
