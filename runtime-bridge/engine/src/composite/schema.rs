//! Where the API server publishes the schemas of kinds.

/// Where the schemas of a group and version are, as the index of `/openapi/v3` has it; `None`: it is no version.
pub(super) fn document(api_version: &str) -> Option<String> {
    let root = if api_version.contains('/') { "apis" } else { "api" };
    let is_path = |part: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        !part.is_empty() && part.chars().all(allowed)
    };
    let is_version = api_version.split('/').all(is_path);
    is_version.then(|| format!("{root}/{api_version}"))
}
