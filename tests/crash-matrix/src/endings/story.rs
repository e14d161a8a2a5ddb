//! What begins or ends, and what must be left of it.

use serde::Serialize;

/// What a user does, once all is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Story {
    /// A composite resource of three objects with a usage between two of them is deleted.
    CompositeDeleted,
    /// The second of three objects is composed no more.
    ResourceRemoved,
    /// A usage is composed no more, while what it names stays.
    UsageRemoved,
    /// A claim is deleted, and another one of its name applied as soon as the API server takes it.
    ClaimRecreated,
    /// A definition is deleted with composite resources in three namespaces.
    DefinitionDeleted,
    /// A composite resource of three objects is created.
    CompositeCreated,
    /// Of a composite resource of three objects one is desired with other content, one no more, and a new one beside them.
    CompositeChanged,
}

/// The process that is killed or paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Target {
    /// The one bridge.
    Bridge,
    /// The leader of two is paused (SIGSTOP) until the other one leads, and then resumed.
    Leader,
}

/// One point of one story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndingCase {
    /// What ends.
    pub story: Story,
    /// Where the bridge halts: `end/before delete configmaps#2`.
    pub point: String,
    /// What is done to it there.
    pub target: Target,
}

/// What a story must leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Left {
    /// Composed `ConfigMap`s.
    pub composed: usize,
    /// Composite resources.
    pub composites: usize,
    /// Claims.
    pub claims: usize,
}

impl Story {
    /// All, those first that take longest.
    pub const ALL: [Self; 7] = [
        Self::DefinitionDeleted,
        Self::ClaimRecreated,
        Self::CompositeDeleted,
        Self::UsageRemoved,
        Self::CompositeChanged,
        Self::ResourceRemoved,
        Self::CompositeCreated,
    ];

    /// Its name in results and documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::CompositeDeleted => "composite-deleted",
            Self::ResourceRemoved => "resource-removed",
            Self::UsageRemoved => "usage-removed",
            Self::ClaimRecreated => "claim-recreated",
            Self::DefinitionDeleted => "definition-deleted",
            Self::CompositeCreated => "composite-created",
            Self::CompositeChanged => "composite-changed",
        }
    }

    /// What is left when all is over.
    pub fn left(self) -> Left {
        match self {
            Self::CompositeDeleted | Self::DefinitionDeleted => Left::default(),
            Self::ResourceRemoved => Left {
                composed: 2,
                composites: 1,
                claims: 0,
            },
            Self::UsageRemoved | Self::CompositeCreated | Self::CompositeChanged => Left {
                composed: 3,
                composites: 1,
                claims: 0,
            },
            Self::ClaimRecreated => Left {
                composed: 3,
                composites: 1,
                claims: 1,
            },
        }
    }

    /// Points without which a run proves nothing of it: an undisturbed course must come by them.
    pub fn must_come_by(self) -> &'static [&'static str] {
        match self {
            Self::CompositeDeleted => &[
                "update orders/status#1",
                "delete configmaps#3",
                "delete usages#1",
                "update usages#1",
                "update orders#1",
            ],
            Self::ResourceRemoved => &["delete configmaps#1", "update orders#1"],
            Self::UsageRemoved => &["delete usages#1", "patch configmaps#1", "update usages#1"],
            Self::ClaimRecreated => &[
                "update purchases/status#1",
                "delete xpurchases#1",
                "delete configmaps#3",
                "update purchases#1",
                "create xpurchases#1",
                "create configmaps#3",
            ],
            Self::DefinitionDeleted => &[
                "update compositeresourcedefinitions/status#1",
                "delete orders#3",
                "delete configmaps#6",
                "update orders#3",
                "delete customresourcedefinitions#1",
                "update compositeresourcedefinitions#1",
            ],
            Self::CompositeCreated => &["update orders#1", "create configmaps#3", "update orders/status#1"],
            // What was created has its managed fields converted before the first apply.
            Self::CompositeChanged => &[
                "update orders#2",
                "delete configmaps#1",
                "create configmaps#1",
                "patch configmaps#1",
                "apply configmaps#1",
                "update orders/status#1",
            ],
        }
    }

    /// Those of these points that its undisturbed course did not come by.
    pub fn lost(self, recorded: &[String]) -> Vec<String> {
        let due = self.must_come_by().iter();
        let due = due.flat_map(|what| ["before", "after"].map(|side| format!("end/{side} {what}")));
        due.filter(|point| !recorded.contains(point)).collect()
    }
}

impl std::fmt::Display for EndingCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {:?}", self.story.name(), self.point, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::Story;

    #[test]
    fn a_write_that_is_no_point_any_more_is_reported() {
        for story in Story::ALL {
            let due = story.lost(&[]);
            assert_eq!(due.len(), 2 * story.must_come_by().len());
            assert!(story.lost(&due).is_empty());
            assert_eq!(story.lost(&due[1..]), due[..1]);
        }
    }
}
