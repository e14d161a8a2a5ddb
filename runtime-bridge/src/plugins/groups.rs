//! Which API groups a plugin may serve kinds of.

use std::collections::BTreeSet;

use bridge_core::kind::ResourceType;

use super::{OfPlugin, PluginArgs};

/// Whose an API group is, as far as the operator says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Groups {
    /// The names that `--plugin` gives.
    pinned: BTreeSet<String>,
    /// The groups that plugins may have beside their own.
    allowed: Vec<OfPlugin<String>>,
}

impl PluginArgs {
    /// Whose an API group is, by the flags.
    pub fn groups(&self) -> Groups {
        let pinned = self.addresses.iter().filter_map(|address| address.name.clone());
        Groups {
            pinned: pinned.collect(),
            allowed: self.allow_group.clone(),
        }
    }
}

impl Groups {
    /// Why the plugin may not serve a kind; `None`: it may.
    pub fn refusal(&self, plugin: &str, kind: &ResourceType) -> Option<String> {
        let mut allowed = self.allowed.iter();
        if allowed.any(|flag| flag.plugin == plugin && flag.value == kind.group) {
            return None;
        }
        let allow = format!(
            "the operator can allow it with --allow-group {plugin}={}",
            kind.group
        );
        if !kind.is_of_plugin(plugin) {
            return Some(format!(
                "its group is neither {plugin}, as the plugin is called, nor ends in .{plugin}: another plugin may own that group; {allow}"
            ));
        }
        // A plugin that calls itself `example.org` has not therefore what is `aws.example.org`'s, nor has one that calls itself `s3.aws.example.org`,
        // unless the operator does.
        let is_pinned = self.pinned.contains(plugin);
        let mut others = self.pinned.iter().filter(|pinned| *pinned != plugin);
        let owner =
            others.find(|pinned| kind.is_of_plugin(pinned) && (pinned.len() > plugin.len() || !is_pinned))?;
        Some(format!(
            "its group belongs to the plugin {owner}, which --plugin {owner}=… names; {allow}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_has_its_own_groups_and_those_that_the_operator_gives_it() {
        let allowed = [
            ("evil.example.org", "cloud.example.com"),
            ("aws.example.org", "aws.example.com"),
            ("example.org", "sqs.aws.example.org"),
        ];
        let groups = Groups {
            pinned: ["aws.example.org", "ec2.aws.example.org"]
                .map(str::to_owned)
                .into(),
            allowed: allowed
                .map(|(plugin, group)| OfPlugin {
                    plugin: plugin.to_owned(),
                    value: group.to_owned(),
                })
                .into(),
        };
        let may = |plugin: &str, group: &str| {
            let kind = ResourceType {
                group: group.to_owned(),
                version: "v1".to_owned(),
                kind: "Bucket".to_owned(),
            };
            groups.refusal(plugin, &kind).is_none()
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
        assert!(may("example.org", "gcp.example.org"));
        assert!(may("example.org", "sqs.aws.example.org"), "given to it");
        for of_pinned in ["aws.example.org", "s3.aws.example.org"] {
            assert!(!may("example.org", of_pinned), "{of_pinned}");
        }
        assert!(
            !may("s3.aws.example.org", "s3.aws.example.org"),
            "below a pinned name"
        );
        assert!(may("ec2.aws.example.org", "ec2.aws.example.org"), "pinned itself");
        assert!(
            !may("aws.example.org", "ec2.aws.example.org"),
            "of another pinned one"
        );
    }
}
