//! What is given to `render`, read from files.

use std::{collections::BTreeMap, fs, path::Path};

use bridge_core::function::HiddenMap;
use serde_json::{Map, Value};

use super::{
    RenderArgs, RenderError, defaults,
    inputs::{Given, text},
};
use crate::manifests;

/// `KEY=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

/// All but the functions.
pub(super) fn given(args: &RenderArgs) -> Result<Given, RenderError> {
    let mut composite = one(&args.composite)?;
    let definition = args.xrd.as_deref().map(one).transpose()?;
    if let Some(definition) = &definition {
        defaults::set(&mut composite, definition)?;
    }
    let given = Given {
        composite,
        composition: one(&args.composition)?,
        definition,
        observed: all(&args.observed_resources)?,
        required: all(&args.required_resources)?,
        credentials: all(&args.function_credentials)?,
        schemas: schemas(args.required_schemas.as_deref())?,
        context: context(args)?,
    };
    given.checked()
}

/// Functions, by name.
pub(super) fn functions(args: &RenderArgs) -> Result<BTreeMap<String, Value>, RenderError> {
    let functions = match &args.functions {
        Some(path) => all(std::slice::from_ref(path))?,
        None => Vec::new(),
    };
    let named = |function: Value| (text(&function, "/metadata/name").to_owned(), function);
    Ok(functions.into_iter().map(named).collect())
}

fn all(paths: &[std::path::PathBuf]) -> Result<Vec<Value>, RenderError> {
    let documents = manifests::read(paths)?;
    // Each was read from JSON.
    Ok(documents
        .into_iter()
        .filter_map(|document| serde_json::to_value(document.object).ok())
        .collect())
}

fn one(path: &Path) -> Result<Value, RenderError> {
    let mut documents = all(&[path.to_owned()])?;
    match (documents.pop(), documents.pop()) {
        (Some(one), None) => Ok(one),
        (found, _) => Err(RenderError::Input {
            path: path.to_owned(),
            why: match found {
                None => "there is no object in it".to_owned(),
                Some(_) => "there is more than one object in it".to_owned(),
            },
        }),
    }
}

/// The documents of a folder, as `kubectl get --raw /openapi/v3/…` prints them.
fn schemas(folder: Option<&Path>) -> Result<Vec<Value>, RenderError> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let because = |path: &Path, why: String| RenderError::Input {
        path: path.to_owned(),
        why,
    };
    let entries = fs::read_dir(folder).map_err(|error| because(folder, error.to_string()))?;
    let mut files = Vec::new();
    for entry in entries {
        files.push(entry.map_err(|error| because(folder, error.to_string()))?.path());
    }
    files.retain(|file| file.extension().is_some_and(|end| end == "json"));
    files.sort();
    let read = |file: &std::path::PathBuf| {
        let document = fs::read(file).map_err(|error| because(file, error.to_string()))?;
        serde_json::from_slice(&document).map_err(|error| because(file, format!("it is not JSON: {error}")))
    };
    files.iter().map(read).collect()
}

fn context(args: &RenderArgs) -> Result<HiddenMap, RenderError> {
    let mut context = Map::new();
    let parse = |key: &str, text: &str| {
        serde_yaml_ng::from_str::<Value>(text).map_err(|cause| RenderError::Context {
            key: key.to_owned(),
            cause,
        })
    };
    for (key, path) in &args.context_files {
        let text = fs::read_to_string(path).map_err(|error| RenderError::Input {
            path: path.into(),
            why: error.to_string(),
        })?;
        context.insert(key.clone(), parse(key, &text)?);
    }
    for (key, value) in &args.context_values {
        context.insert(key.clone(), parse(key, value)?);
    }
    Ok(HiddenMap(context))
}
