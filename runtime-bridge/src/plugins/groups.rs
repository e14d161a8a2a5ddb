//! Which API groups a plugin may serve kinds of.

use std::collections::BTreeSet;

use bridge_core::kind::ResourceType;

use super::OfPlugin;

/// The groups beside its own that the operator lets one plugin have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups(BTreeSet<String>);

impl Groups {
    /// Those that flags give to the plugin of this name.
    pub fn of(plugin: &str, flags: &[OfPlugin<String>]) -> Self {
        let its = flags.iter().filter(|flag| flag.plugin == plugin);
        Self(its.map(|flag| flag.value.clone()).collect())
    }

    /// Why the plugin may not serve a kind; `None`: it may.
    pub fn refusal(&self, plugin: &str, kind: &ResourceType) -> Option<String> {
        let allowed = kind.is_of_plugin(plugin) || self.0.contains(&kind.group);
        (!allowed).then(|| {
            format!(
                "its group is neither {plugin}, as the plugin is called, nor ends in .{plugin}: another plugin may own that group; the operator can \
                 allow it with --allow-group {plugin}={}",
                kind.group
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_has_its_own_groups_and_those_that_the_operator_gives_it() {
        let flags = [
            OfPlugin {
                plugin: "evil.example.org".to_owned(),
                value: "cloud.example.com".to_owned(),
            },
            OfPlugin {
                plugin: "aws.example.org".to_owned(),
                value: "aws.example.com".to_owned(),
            },
        ];
        let may = |plugin: &str, group: &str| {
            let kind = ResourceType {
                group: group.to_owned(),
                version: "v1".to_owned(),
                kind: "Bucket".to_owned(),
            };
            Groups::of(plugin, &flags).refusal(plugin, &kind).is_none()
        };
        assert!(may("aws.example.org", "aws.example.org"));
        assert!(may("aws.example.org", "s3.aws.example.org"));
        assert!(may("aws.example.org", "aws.example.com"));
        for stolen in [
            "s3.aws.example.org",
            "aws.example.org",
            "example.org",
            "notevil.example.org",
        ] {
            assert!(!may("evil.example.org", stolen), "{stolen}");
        }
        assert!(!may("evil.example.org", "aws.example.com"), "given to another");
    }
}
