//! Which versions a CRD was written by, so that an older bridge or plugin never takes it back.

use std::cmp::Ordering;

use serde_json::{Value, json};

/// Annotation on each CRD that a bridge writes: version of the plugin whose kind it is.
pub const PLUGIN_VERSION: &str = "crossbridge.dev/plugin-version";

/// Annotation on each CRD that a bridge writes: version of the bridge.
pub const BRIDGE_VERSION: &str = "crossbridge.dev/bridge-version";

/// Annotation on each CRD that a bridge writes: name of the plugin whose kind it is, and so of the configs that its objects use.
pub const PLUGIN: &str = "crossbridge.dev/plugin";

/// Both, and what they are versions of.
const NOTED: [(&str, &str); 2] = [(PLUGIN_VERSION, "plugin"), (BRIDGE_VERSION, "bridge")];

/// Notes on a CRD that is to be written which plugin's it is.
pub fn note_plugin(crd: &mut Value, plugin: &str) {
    crd["metadata"]["annotations"][PLUGIN] = json!(plugin);
}

/// Another plugin whose CRD the found one is; `None`: it is that of the wanted one's plugin, or of none.
pub fn other_owner<'a>(wanted: &Value, found: &'a Value) -> Option<&'a str> {
    let wanted = noted(wanted, PLUGIN)?;
    noted(found, PLUGIN).filter(|owner| *owner != wanted)
}

/// Notes the versions on a CRD that is to be written.
pub fn note_versions(crd: &mut Value, plugin: &str, bridge: &str) {
    crd["metadata"]["annotations"][PLUGIN_VERSION] = json!(plugin);
    crd["metadata"]["annotations"][BRIDGE_VERSION] = json!(bridge);
}

/// What the CRD that was found is newer by than the wanted one, for people; `None`: it is not newer.
pub fn newer(wanted: &Value, found: &Value) -> Option<String> {
    let newer: Vec<String> = NOTED
        .into_iter()
        .filter_map(|(name, what)| {
            let (wanted, found) = (noted(wanted, name)?, noted(found, name)?);
            (compare(found, wanted) == Some(Ordering::Greater)).then(|| format!("{what} {found}"))
        })
        .collect();
    (!newer.is_empty()).then(|| newer.join(" and "))
}

/// The CRD that was found bears the plugin and the versions of the wanted one, or newer ones. Versions that differ in their build alone are one.
pub fn is_noted(wanted: &Value, found: &Value) -> bool {
    let is_current = |name| {
        noted(wanted, name).is_none_or(|wanted| {
            noted(found, name).is_some_and(|found| {
                found == wanted || compare(found, wanted).is_some_and(|order| order != Ordering::Less)
            })
        })
    };
    let is_of_plugin = noted(wanted, PLUGIN).is_none_or(|plugin| noted(found, PLUGIN) == Some(plugin));
    is_of_plugin && NOTED.into_iter().all(|(name, _)| is_current(name))
}

/// The CRD that was found serves every version that the wanted one serves.
pub fn serves_all(wanted: &Value, found: &Value) -> bool {
    let served = |crd: &Value| -> Vec<String> {
        let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        let served = versions.filter(|version| version["served"] == true);
        served
            .filter_map(|version| version["name"].as_str().map(ToOwned::to_owned))
            .collect()
    };
    let found = served(found);
    served(wanted).iter().all(|version| found.contains(version))
}

fn noted<'a>(crd: &'a Value, name: &str) -> Option<&'a str> {
    crd["metadata"]["annotations"][name].as_str()
}

/// By the precedence of semantic versions; `None`: one of them is none.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    let (one, other) = (Version::read(one)?, Version::read(other)?);
    Some(one.cmp(&other))
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Version<'a> {
    numbers: [u64; 3],
    /// A version comes after all of its own pre-releases.
    is_release: bool,
    pre_release: Vec<Identifier<'a>>,
}

/// Numbers come before words.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Identifier<'a> {
    Number(u64),
    Word(&'a str),
}

impl<'a> Version<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (text, _build) = text.split_once('+').unwrap_or((text, ""));
        let (numbers, pre_release) = match text.split_once('-') {
            Some((numbers, pre_release)) => (numbers, Some(pre_release)),
            None => (text, None),
        };
        let mut parts = numbers.split('.').map(|number| number.parse().ok());
        let numbers = [parts.next()??, parts.next()??, parts.next()??];
        if parts.next().is_some() {
            return None;
        }
        let identifier = |part: &'a str| match part.parse() {
            Ok(number) => Identifier::Number(number),
            Err(_) => Identifier::Word(part),
        };
        Some(Self {
            numbers,
            is_release: pre_release.is_none(),
            pre_release: pre_release
                .into_iter()
                .flat_map(|words| words.split('.'))
                .map(identifier)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(plugin: &str, bridge: &str) -> Value {
        let mut crd = json!({"metadata": {"name": "notes"}});
        note_versions(&mut crd, plugin, bridge);
        crd
    }

    #[test]
    fn versions_are_ordered_as_semantic_versioning_says() {
        let ordered = [
            "0.9.9",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.2.0",
            "1.10.0",
            "2.0.0",
        ];
        for pair in ordered.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Some(Ordering::Less), "{pair:?}");
        }
        assert_eq!(compare("1.0.0+one", "1.0.0+other"), Some(Ordering::Equal));
        for none in ["", "1", "1.0", "1.0.0.0", "v1.0.0", "latest"] {
            assert_eq!(compare(none, "1.0.0"), None, "{none}");
        }
    }

    #[test]
    fn a_crd_is_newer_by_either_version() {
        let ours = crd("1.2.0", "0.3.0");
        assert_eq!(newer(&ours, &crd("1.2.0", "0.3.0")), None);
        assert_eq!(newer(&ours, &crd("1.1.0", "0.2.0")), None);
        assert_eq!(
            newer(&ours, &crd("1.3.0", "0.2.0")),
            Some("plugin 1.3.0".to_owned())
        );
        let both = Some("plugin 2.0.0 and bridge 1.0.0".to_owned());
        assert_eq!(newer(&ours, &crd("2.0.0", "1.0.0")), both);
        assert_eq!(newer(&ours, &json!({"metadata": {"name": "notes"}})), None);
        assert_eq!(newer(&ours, &crd("latest", "main")), None);
    }

    #[test]
    fn what_bears_no_version_or_an_older_one_is_to_be_noted() {
        let ours = crd("1.2.0", "0.3.0");
        assert!(is_noted(&ours, &crd("1.2.0", "0.3.0")));
        assert!(is_noted(&ours, &crd("1.3.0", "0.3.0")));
        assert!(!is_noted(&ours, &crd("1.1.0", "0.3.0")));
        let bare = json!({"metadata": {"name": "notes"}});
        assert!(!is_noted(&ours, &bare));
        assert!(is_noted(&bare, &ours), "nothing is to be noted");
    }

    #[test]
    fn builds_of_one_version_do_not_note_over_each_other() {
        let (one, other) = (crd("1.0.0+a", "0.3.0"), crd("1.0.0+b", "0.3.0"));
        assert!(is_noted(&one, &other) && is_noted(&other, &one));
    }

    #[test]
    fn a_crd_notes_whose_it_is() {
        let mut ours = crd("1.2.0", "0.3.0");
        note_plugin(&mut ours, "example.org");
        assert!(is_noted(&ours, &ours));
        assert!(!is_noted(&ours, &crd("1.2.0", "0.3.0")));
    }

    #[test]
    fn a_crd_of_another_plugin_is_told_apart() {
        let of = |plugin| {
            let mut crd = crd("1.2.0", "0.3.0");
            note_plugin(&mut crd, plugin);
            crd
        };
        let (ours, theirs) = (of("example.org"), of("evil.example.org"));
        assert_eq!(other_owner(&ours, &theirs), Some("evil.example.org"));
        assert_eq!(other_owner(&ours, &ours), None);
        assert_eq!(other_owner(&ours, &crd("1.0.0", "0.1.0")), None, "it notes none");
        assert_eq!(
            other_owner(&crd("1.0.0", "0.1.0"), &theirs),
            None,
            "a definition's"
        );
    }

    #[test]
    fn a_version_that_is_no_longer_served_is_missed() {
        let crd = |served| json!({"spec": {"versions": [{"name": "v1", "served": served}, {"name": "v2", "served": true}]}});
        assert!(serves_all(&crd(true), &crd(true)));
        assert!(!serves_all(&crd(true), &crd(false)));
        assert!(serves_all(&crd(false), &crd(false)));
    }
}
