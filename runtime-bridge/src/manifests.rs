//! Kubernetes objects in manifest files and folders of them.

mod yaml_1_1;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::Value;

/// One object of a manifest file.
#[derive(Debug)]
pub struct Document {
    /// Which one of which file, as a message names it.
    pub origin: String,
    /// As it stands there.
    pub object: DynamicObject,
}

/// Why manifests cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// A folder without manifests.
    #[error("{} has no *.yaml, *.yml or *.json file", path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// The text is not YAML.
    #[error("{origin} is not YAML: {cause}")]
    Syntax {
        /// The file, and which of its documents.
        origin: String,
        /// The parser's error.
        cause: serde_yaml_ng::Error,
    },
    /// The text means something else to kubectl.
    #[error(
        "line {line} of {}: kubectl reads a plain {word} as a boolean: write \"{word}\" for the text, else true or false",
        file.display()
    )]
    Ambiguous {
        /// The file.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// The scalar.
        word: String,
    },
    /// The document is YAML, and no Kubernetes object.
    #[error("{origin} is no Kubernetes object: {missing}")]
    NotAnObject {
        /// The file, and which of its documents.
        origin: String,
        /// What is missing or wrong.
        missing: String,
    },
}

/// All objects of all files, in the order of the paths, of the names in a folder and of the documents in a file.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Document>, ManifestError> {
    let mut documents = Vec::new();
    for path in paths {
        for file in files(path)? {
            let text = fs::read_to_string(&file).map_err(|cause| ManifestError::Unreadable {
                path: file.clone(),
                cause,
            })?;
            documents.extend(parse(&file, &text)?);
        }
    }
    Ok(documents)
}

/// All objects of the text of one file, in their order.
pub fn parse(file: &Path, text: &str) -> Result<Vec<Document>, ManifestError> {
    match yaml_1_1::boolean(text) {
        Some((line, word)) => Err(ManifestError::Ambiguous {
            file: file.to_owned(),
            line,
            word,
        }),
        None => split(file, text),
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ManifestError> {
    let unreadable = |cause| ManifestError::Unreadable {
        path: path.to_owned(),
        cause,
    };
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(path).map_err(unreadable)?.collect();
    let mut files: Vec<PathBuf> = entries
        .map_err(unreadable)?
        .iter()
        .map(fs::DirEntry::path)
        .collect();
    files.retain(|file| {
        file.extension()
            .and_then(|end| end.to_str())
            .is_some_and(|end| ["yaml", "yml", "json"].contains(&end))
    });
    files.sort();
    if files.is_empty() {
        Err(ManifestError::Empty {
            path: path.to_owned(),
        })
    } else {
        Ok(files)
    }
}

fn split(file: &Path, text: &str) -> Result<Vec<Document>, ManifestError> {
    let mut documents = Vec::new();
    for (place, document) in serde_yaml_ng::Deserializer::from_str(text).enumerate() {
        let origin = format!("document {} of {}", place + 1, file.display());
        match Value::deserialize(document) {
            // Nothing but comments.
            Ok(Value::Null) => {}
            Ok(value) => documents.push(object(origin, value)?),
            Err(cause) => return Err(ManifestError::Syntax { origin, cause }),
        }
    }
    Ok(documents)
}

fn object(origin: String, value: Value) -> Result<Document, ManifestError> {
    let no_object = |missing: &str| ManifestError::NotAnObject {
        origin: origin.clone(),
        missing: missing.to_owned(),
    };
    let object: DynamicObject =
        serde_json::from_value(value).map_err(|error| no_object(&error.to_string()))?;
    if object.types.is_none() {
        return Err(no_object("it needs apiVersion and kind"));
    }
    if object.metadata.name.is_none() {
        return Err(no_object("it needs metadata.name"));
    }
    Ok(Document { origin, object })
}

/// As a document of a YAML file; keys in order, so that the same object is always the same text.
pub fn yaml_document(mut object: Value) -> Result<String, serde_yaml_ng::Error> {
    object.sort_all_objects();
    let text = serde_yaml_ng::to_string(&object)?;
    // A text such as "yes" is written plain, and is a boolean to kubectl. In JSON, which is YAML too, all texts are quoted.
    Ok(match yaml_1_1::boolean(&text) {
        None => format!("---\n{text}"),
        Some(_) => format!("---\n{object:#}\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(documents: &[Document]) -> Vec<&str> {
        documents
            .iter()
            .filter_map(|document| document.object.metadata.name.as_deref())
            .collect()
    }

    #[test]
    fn a_text_that_kubectl_would_take_for_a_boolean_is_written_quoted() {
        let object = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"answer": "yes"}});
        let text = yaml_document(object.clone()).unwrap();
        assert!(text.contains(r#""answer": "yes""#), "{text}");
        let read = parse(Path::new("m.yaml"), &text).unwrap();
        assert_eq!(serde_json::to_value(&read[0].object).unwrap(), object);
    }

    #[test]
    fn a_folder_is_read_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        fs::write(folder.path().join("2.yml"), map("c")).unwrap();
        fs::write(
            folder.path().join("1.yaml"),
            format!("# a comment\n---\n{}---\n{}", map("a"), map("b")),
        )
        .unwrap();
        fs::write(folder.path().join("README.md"), "# no manifest").unwrap();
        let single = folder.path().join("2.yml");
        let documents = read(&[folder.path().to_owned(), single]).unwrap();
        assert_eq!(names(&documents), ["a", "b", "c", "c"]);
        assert!(
            documents[1].origin.starts_with("document 2 of "),
            "{}",
            documents[1].origin
        );
    }

    #[test]
    fn examples_and_documents_mean_the_same_to_kubectl() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut texts = Vec::new();
        let mut folders = vec![root.join("examples"), root.join("deploy"), root.join("docs")];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
                if path.is_dir() && !path.ends_with("node_modules") {
                    folders.push(path);
                } else if end == "yaml" {
                    texts.push((path.clone(), fs::read_to_string(&path).unwrap()));
                } else if end == "md" {
                    let page = fs::read_to_string(&path).unwrap();
                    let blocks = page
                        .split("```yaml\n")
                        .skip(1)
                        .filter_map(|rest| rest.split("```").next());
                    texts.extend(blocks.map(|block| (path.clone(), block.to_owned())));
                }
            }
        }
        assert!(texts.len() > 20, "{}", texts.len());
        for (path, text) in texts {
            assert_eq!(yaml_1_1::boolean(&text), None, "{}", path.display());
        }
    }

    #[test]
    fn what_kubectl_reads_otherwise_is_refused_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("table.yaml");
        fs::write(
            &file,
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {type: N}\n",
        )
        .unwrap();
        let error = read(&[file]).unwrap_err().to_string();
        assert!(
            error.starts_with("line 4 of ")
                && error.ends_with("write \"N\" for the text, else true or false"),
            "{error}"
        );
    }

    #[test]
    fn each_manifest_error_is_explained() {
        let says = |text: &str| split(Path::new("x.yaml"), text).unwrap_err().to_string();
        assert!(
            says("a: [").starts_with("document 1 of x.yaml is not YAML"),
            "{}",
            says("a: [")
        );
        assert!(says("metadata: {name: x}").ends_with("it needs apiVersion and kind"));
        assert!(says("apiVersion: v1\nkind: Pod\nmetadata: {}").ends_with("it needs metadata.name"));

        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(
            read(&[folder.path().to_owned()]),
            Err(ManifestError::Empty { .. })
        ));
        assert!(matches!(
            read(&[folder.path().join("none")]),
            Err(ManifestError::Unreadable { .. })
        ));
    }
}
