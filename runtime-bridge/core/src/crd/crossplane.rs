//! The CRDs of the kinds that compositions are written in.

/// As YAML, one CRD each. Fields, rules, names and columns are Crossplane's: where Crossplane is installed, its own are there already.
pub const CROSSPLANE: [&str; 9] = [
    include_str!("crossplane/definition.yaml"),
    include_str!("crossplane/composition.yaml"),
    include_str!("crossplane/revision.yaml"),
    include_str!("crossplane/environment_config.yaml"),
    include_str!("crossplane/function.yaml"),
    include_str!("crossplane/function_revision.yaml"),
    include_str!("crossplane/usage.yaml"),
    include_str!("crossplane/cluster_usage.yaml"),
    include_str!("crossplane/legacy_usage.yaml"),
];
