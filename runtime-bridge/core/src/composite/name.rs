//! Names of composed resources, and of their field managers.

use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest as _, Sha256};

use crate::watch_plan::GroupKind;

use super::{digest::hex, names};

/// Hex digits of a generated name that follow its prefix.
const SUFFIX: usize = 12;
/// The longest label of a name.
const LONGEST_LABEL: usize = 63;
/// The longest generated name, which is the value of a label elsewhere.
const LONGEST_GENERATED: usize = LONGEST_LABEL;
/// The longest name of an object.
const LONGEST: usize = 253;

/// The name of a composed resource that neither exists nor was named by a function: the same for the same composite resource and composition
/// resource name, as Crossplane makes it.
///
/// `generate_name` is shortened where the whole is longer than 63 bytes. Two composition resource names give two names, save for chance.
pub fn child_name(generate_name: &str, composite_uid: &str, resource_name: &str) -> String {
    let digest = Sha256::new()
        .chain_update(composite_uid)
        .chain_update(resource_name)
        .finalize();
    let mut name = generate_name.to_owned();
    if !name.ends_with('-') {
        name.push('-');
    }
    let longest = LONGEST_GENERATED - SUFFIX;
    if name.len() > longest {
        cut(&mut name, longest);
        if !name.ends_with('-') {
            cut(&mut name, longest - 1);
            name.push('-');
        }
    }
    name.push_str(&hex(&digest[..SUFFIX / 2]));
    name
}

/// No more than `length` bytes. A letter is kept whole: what is not ASCII is no valid name either way.
fn cut(text: &mut String, length: usize) {
    text.truncate(text.floor_char_boundary(length));
}

/// Whether an object of this kind can have this name: an RFC 1123 subdomain; of RBAC kinds colons are as good as letters.
pub fn is_valid_name(kind: &GroupKind, name: &str) -> bool {
    static SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| subdomain("a-z0-9"));
    static WITH_COLONS: LazyLock<Regex> = LazyLock::new(|| subdomain("a-z0-9:"));
    let rbac = kind.group() == "rbac.authorization.k8s.io";
    name.len() <= LONGEST && if rbac { &WITH_COLONS } else { &SUBDOMAIN }.is_match(name)
}

/// Whether a namespace can have this name: an RFC 1123 label.
pub fn is_valid_namespace(name: &str) -> bool {
    name.len() <= LONGEST_LABEL
        && !name.contains('.')
        && is_valid_name(&GroupKind::new("", "Namespace"), name)
}

fn subdomain(letters: &str) -> Regex {
    let label = format!("[{letters}](?:[-{letters}]*[{letters}])?");
    Regex::new(&format!(r"\A{label}(?:\.{label})*\z")).expect("the pattern is fixed")
}

/// The field manager that applies what a composite resource composes. Neither namespace nor uid is in it, as in Crossplane.
pub fn composed_manager(composite_name: &str, composite_kind: &GroupKind) -> String {
    let digest = Sha256::digest(format!("{composite_name}{composite_kind}"));
    format!("{}{}", names::COMPOSED_MANAGER_PREFIX, hex(&digest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const UID: &str = "f1c07e8e-8b17-4a3a-9a4e-0d1c2b3a4f5e";

    /// First 12 hex digits of `printf '%s%s' UID RN | sha256sum`.
    const OF_BUCKET: &str = "d2468f47ca3b";

    /// The formula of the reference, said otherwise: by what is left of the prefix.
    fn by_reference(generate_name: &str, uid: &str, resource_name: &str) -> String {
        let digest: String = Sha256::digest([uid, resource_name].concat())
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let dashed = format!("{}-", generate_name.strip_suffix('-').unwrap_or(generate_name));
        let prefix = match dashed.char_indices().nth(51) {
            None => dashed,
            Some(_) if dashed.as_bytes()[50] == b'-' => dashed.chars().take(51).collect(),
            Some(_) => dashed.chars().take(50).chain(['-']).collect(),
        };
        format!("{prefix}{}", &digest[..12])
    }

    #[test]
    fn a_name_is_prefix_and_digest_of_uid_and_resource_name() {
        assert_eq!(child_name("site-", UID, "bucket"), format!("site-{OF_BUCKET}"));
        assert_eq!(child_name("site", UID, "bucket"), format!("site-{OF_BUCKET}"));
        assert_eq!(child_name("pre.", UID, "bucket"), format!("pre.-{OF_BUCKET}"));
        assert_eq!(child_name("", UID, "bucket"), format!("-{OF_BUCKET}"));
    }

    #[test]
    fn a_prefix_of_51_bytes_is_kept_whole() {
        let prefix = "a".repeat(50);
        assert_eq!(
            child_name(&prefix, UID, "bucket"),
            format!("{prefix}-{OF_BUCKET}")
        );
    }

    #[test]
    fn a_longer_prefix_is_cut_to_50_and_a_dash() {
        let cut = "a".repeat(50);
        assert_eq!(
            child_name(&"a".repeat(51), UID, "bucket"),
            format!("{cut}-{OF_BUCKET}")
        );
        assert_eq!(
            child_name(&"a".repeat(99), UID, "bucket"),
            format!("{cut}-{OF_BUCKET}")
        );
    }

    #[test]
    fn a_cut_behind_a_dash_needs_no_other() {
        let start = "a".repeat(50);
        let long = format!("{start}-bcd-");
        assert_eq!(child_name(&long, UID, "bucket"), format!("{start}-{OF_BUCKET}"));
    }

    #[test]
    fn names_are_judged_as_the_api_server_judges_them() {
        let config_map = GroupKind::new("", "ConfigMap");
        let role = GroupKind::new("rbac.authorization.k8s.io", "ClusterRole");
        for valid in ["a", "a-b.c", "0", "a.b.c-d9", &"a".repeat(253)] {
            assert!(is_valid_name(&config_map, valid), "{valid}");
            assert!(is_valid_name(&role, valid), "{valid}");
        }
        for invalid in [
            "",
            "-a",
            "a-",
            "a..b",
            ".a",
            "a.",
            "A",
            "a_b",
            "a/b",
            "a\n",
            "ä",
            &"a".repeat(254),
        ] {
            assert!(!is_valid_name(&config_map, invalid), "{invalid:?}");
            assert!(!is_valid_name(&role, invalid), "{invalid:?}");
        }
        assert!(is_valid_name(&role, "crossplane:composite:x:view"));
        assert!(!is_valid_name(&config_map, "crossplane:composite"));
    }

    #[test]
    fn a_namespace_is_one_label() {
        for (name, valid) in [("a-b", true), ("a.b", false), ("", false), ("../x", false)] {
            assert_eq!(is_valid_namespace(name), valid, "{name}");
        }
        assert!(is_valid_namespace(&"a".repeat(63)) && !is_valid_namespace(&"a".repeat(64)));
    }

    #[test]
    fn a_composed_manager_is_a_digest_of_name_and_kind() {
        let kind = GroupKind::new("example.org", "Site");
        // `printf 'shopSite.example.org' | sha256sum`
        let expected = "apiextensions.crossplane.io/composed/2bb157f49c575daf7515c490024224d571bd5340ff53455440f6a4f898b25b11";
        assert_eq!(composed_manager("shop", &kind), expected);
    }

    proptest! {
        #[test]
        fn names_follow_the_reference(prefix in "[a-z.-]{0,80}", uid in "[a-f0-9-]{36}", name in ".{0,20}") {
            let made = child_name(&prefix, &uid, &name);
            prop_assert!(made.len() <= LONGEST_GENERATED);
            prop_assert_eq!(made, by_reference(&prefix, &uid, &name));
        }

        #[test]
        fn names_of_whatever_text_can_be_made(prefix in ".{0,80}", name in ".{0,20}") {
            prop_assert!(child_name(&prefix, UID, &name).len() <= LONGEST_GENERATED);
        }
    }
}
