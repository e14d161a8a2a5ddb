//! `managementPolicies` and `deletionPolicy`: what the bridge may do.

use serde_json::Value;

/// What the bridge may do to the external resource, by the plain meaning of each verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // One per verb, as users write them.
pub struct Policies {
    /// Make it.
    pub create: bool,
    /// Change it.
    pub update: bool,
    /// Remove it with the object; otherwise it is left behind.
    pub delete: bool,
    /// Fill absent fields of the spec from what is observed.
    pub late_initialize: bool,
    /// `managementPolicies: []`: do nothing.
    pub paused: bool,
}

impl Policies {
    /// Do nothing: what the user wants is not known.
    pub const NOTHING: Self = Self {
        create: false,
        update: false,
        delete: false,
        late_initialize: false,
        paused: true,
    };

    /// From `spec`. An absent list means `["*"]`; `deletionPolicy` (cluster-scoped kinds) orphans only while the list is the default one,
    /// as crossplane-runtime's legacy resolver has it.
    pub fn of(spec: &Value) -> Self {
        let listed: Option<Vec<&str>> = spec
            .get("managementPolicies")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect());
        let verbs = listed.unwrap_or_else(|| vec!["*"]);
        let all = verbs.contains(&"*");
        let has = |verb: &str| all || verbs.contains(&verb);
        let orphan = spec.get("deletionPolicy").and_then(Value::as_str) == Some("Orphan");
        Self {
            create: has("Create"),
            update: has("Update"),
            delete: has("Delete") && !(orphan && all),
            late_initialize: has("LateInitialize"),
            paused: verbs.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn letters(spec: &Value) -> String {
        let policies = Policies::of(spec);
        [
            (policies.create, 'C'),
            (policies.update, 'U'),
            (policies.delete, 'D'),
            (policies.late_initialize, 'L'),
            (policies.paused, 'P'),
        ]
        .into_iter()
        .filter_map(|(on, letter)| on.then_some(letter))
        .collect()
    }

    #[test]
    fn the_fifteen_sets_of_crossplane_runtime() {
        let table: [(&[&str], &str); 15] = [
            (&["*"], "CUDL"),
            (
                &["Observe", "Create", "Update", "LateInitialize", "Delete"],
                "CUDL",
            ),
            (&["Observe"], ""),
            (&[], "P"),
            (&["Observe", "Create", "Update", "Delete"], "CUD"),
            (&["Observe", "Create", "Update", "LateInitialize"], "CUL"),
            (&["Observe", "Create", "Update"], "CU"),
            (&["Observe", "Create", "Delete", "LateInitialize"], "CDL"),
            (&["Observe", "Create", "LateInitialize"], "CL"),
            (&["Observe", "Create", "Delete"], "CD"),
            (&["Observe", "Create"], "C"),
            (&["Observe", "Delete"], "D"),
            (&["Observe", "Update"], "U"),
            (&["Observe", "LateInitialize"], "L"),
            (&["Observe", "Update", "LateInitialize"], "UL"),
        ];
        for (set, expected) in table {
            assert_eq!(letters(&json!({"managementPolicies": set})), expected, "{set:?}");
        }
        assert_eq!(letters(&json!({})), "CUDL");
    }

    #[test]
    fn deletion_policy_counts_only_beside_the_default() {
        assert_eq!(letters(&json!({"deletionPolicy": "Orphan"})), "CUL");
        assert_eq!(
            letters(&json!({"deletionPolicy": "Orphan", "managementPolicies": ["*"]})),
            "CUL"
        );
        assert_eq!(
            letters(&json!({"deletionPolicy": "Orphan", "managementPolicies": ["Observe", "Delete"]})),
            "D"
        );
        assert_eq!(
            letters(&json!({"deletionPolicy": "Delete", "managementPolicies": ["Observe"]})),
            ""
        );
    }
}
