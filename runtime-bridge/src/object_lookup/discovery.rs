//! How kinds are served, and their objects, whatever they are: with a CRD or without.

use std::collections::BTreeMap;

use bridge_core::watch_plan::GroupKind;
use bridge_engine::{
    api_error::ApiError,
    client::{METADATA_ONLY, METADATA_ONLY_LIST},
    object::{ApiType, Key},
};
use http::{HeaderValue, Request, header};
use serde_json::Value;

use super::{Reader, request};

/// Objects of one answer to a list.
const PAGE: usize = 500;

/// How the kinds of one group and version are served; `None`: that version is not.
pub type Served = Option<BTreeMap<String, ApiType>>;

impl Reader {
    /// The kinds of a group in a version, by kind.
    pub async fn served(&self, api_version: &str) -> Result<Served, ApiError> {
        let path = match api_version.split_once('/') {
            Some(_) => format!("/apis/{api_version}"),
            None => format!("/api/{api_version}"),
        };
        // It comes from a reference, which anybody may have written.
        let is_path = path
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-'));
        if !is_path || path.contains("..") {
            return Ok(None);
        }
        let list: Value = match self.client().call("get", "discovery", request(&path)).await {
            Ok(list) => list,
            Err(ApiError::NotFound(_) | ApiError::NotServed(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let resources = list["resources"].as_array().into_iter().flatten();
        let resources = resources.filter_map(|resource| {
            let (plural, kind) = (resource["name"].as_str()?, resource["kind"].as_str()?);
            let is_listed = resource["verbs"].as_array()?.iter().any(|verb| verb == "list");
            if plural.contains('/') || !is_listed {
                return None;
            }
            let api = ApiType {
                kind: GroupKind::new(group, kind),
                version: version.to_owned(),
                plural: plural.to_owned(),
                namespaced: resource["namespaced"] == true,
            };
            Some((kind.to_owned(), api))
        });
        Ok(Some(resources.collect()))
    }

    /// All group versions that are served, each group in its preferred one.
    pub async fn preferred_versions(&self) -> Result<Vec<String>, ApiError> {
        let groups: Value = self.client().call("get", "discovery", request("/apis")).await?;
        let groups = groups["groups"].as_array().into_iter().flatten();
        let named = groups.filter_map(|group| group["preferredVersion"]["groupVersion"].as_str());
        Ok(std::iter::once("v1".to_owned())
            .chain(named.map(str::to_owned))
            .collect())
    }

    /// One object as it is; of a Secret the metadata alone. `None`: it does not exist.
    pub async fn value(&self, api: &ApiType, key: &Key) -> Result<Option<Value>, ApiError> {
        let path = match api.object_path(key) {
            Ok(path) => path,
            Err(error) => return Err(ApiError::Unusable(error.to_string())),
        };
        let asked = if api.is_metadata_only() {
            accepting(&path, METADATA_ONLY)
        } else {
            request(&path)
        };
        match self.client().call::<Value>("get", &api.plural, asked).await {
            Ok(object) => Ok(Some(object)),
            Err(ApiError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The metadata of all objects of a kind, in one namespace or everywhere.
    pub async fn metadata(&self, api: &ApiType, namespace: Option<&str>) -> Result<Vec<Value>, ApiError> {
        let items = self.list(api, namespace, Some(METADATA_ONLY_LIST)).await?;
        Ok(items
            .into_iter()
            .map(|mut item| item["metadata"].take())
            .collect())
    }

    /// All objects of a kind, everywhere.
    pub async fn objects(&self, api: &ApiType) -> Result<Vec<Value>, ApiError> {
        self.list(api, None, None).await
    }

    async fn list(
        &self,
        api: &ApiType,
        namespace: Option<&str>,
        format: Option<&'static str>,
    ) -> Result<Vec<Value>, ApiError> {
        let collection = api.collection_path(namespace.filter(|_| api.namespaced));
        let mut all = Vec::new();
        let mut from = String::new();
        loop {
            let path = match from.as_str() {
                "" => format!("{collection}?limit={PAGE}"),
                from => format!("{collection}?limit={PAGE}&continue={from}"),
            };
            let asked = match format {
                Some(format) => accepting(&path, format),
                None => request(&path),
            };
            let mut page: Value = self.client().call("list", &api.plural, asked).await?;
            if let Value::Array(items) = page["items"].take() {
                all.extend(items);
            }
            match page["metadata"]["continue"].as_str() {
                Some(next) if !next.is_empty() => next.clone_into(&mut from),
                _ => return Ok(all),
            }
        }
    }
}

fn accepting(path: &str, format: &'static str) -> Request<Vec<u8>> {
    let mut request = request(path);
    let headers = request.headers_mut();
    headers.insert(header::ACCEPT, HeaderValue::from_static(format));
    request
}
