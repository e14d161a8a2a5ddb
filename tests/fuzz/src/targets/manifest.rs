//! Manifests that are given to `dev` and `render`.

use std::path::Path;

use runtime_bridge::manifests::{parse, yaml_document};
use serde_json::Value;

use super::{in_proportion, same};
use crate::{Broken, Target, target::rejected};

/// The text of a manifest file.
pub(super) const MANIFEST: Target = Target {
    name: "manifest",
    about: "YAML and JSON of manifests: what is accepted is written and read again as it was; aliases do not multiply it without end",
    words: &[
        "---\n",
        "apiVersion: v1\n",
        "kind: X\n",
        "metadata:\n  name: x\n",
        "&a ",
        "*a",
        "<<: *a",
        "!!binary ",
        "!!str ",
        "|\n",
        "yes",
        "0x10",
        "1_000",
        "~",
        "? ",
        "- ",
    ],
    judge: |input| {
        let Ok(text) = std::str::from_utf8(input) else {
            return Ok("no text".to_owned());
        };
        let documents = match parse(Path::new("m.yaml"), text) {
            Ok(documents) => documents,
            Err(error) => return rejected(&error.to_string()),
        };
        let mut all = 0;
        for document in &documents {
            let value = serde_json::to_value(&document.object)
                .map_err(|error| Broken(format!("{} cannot be written: {error}", document.origin)))?;
            let yaml = yaml_document(value.clone())
                .map_err(|error| Broken(format!("{} cannot be written: {error}", document.origin)))?;
            all += yaml.len();
            let again =
                parse(Path::new("m.yaml"), &yaml).map_err(|error| Broken(format!("{error}: {yaml}")))?;
            let again: Vec<Value> = again
                .iter()
                .filter_map(|document| serde_json::to_value(&document.object).ok())
                .collect();
            same("the object", &vec![value], &again)?;
        }
        in_proportion("the objects", all, input, 256)?;
        Ok(format!("{} objects", documents.len().min(4)))
    },
};
