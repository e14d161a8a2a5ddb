//! The two kinds of seeds: of managed resources, and of compositions.

use super::{
    compositions,
    coverage::{self, Counts, MustHappen},
    deadline::Deadline,
    run::{self, Report},
};

/// What a seed is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeedKind {
    /// Managed resources of a plugin.
    ManagedResources,
    /// Composite resources, claims and usages with a function.
    Compositions,
}

impl SeedKind {
    /// Runs one seed. `keeps_journal`: what happens is written down, which takes a while. A seed in which tasks are busy without end, so that no
    /// time passes, ends the process with an error.
    ///
    /// # Panics
    /// The runtime cannot be built.
    pub fn run(self, seed: u64, keeps_journal: bool) -> Report {
        let _ends = Deadline::begin(format!("seed {seed}{}", self.flag()));
        self.replay(seed, keeps_journal)
    }

    /// Likewise, without a limit, as a person or a debugger follows it.
    ///
    /// # Panics
    /// The runtime cannot be built.
    pub fn replay(self, seed: u64, keeps_journal: bool) -> Report {
        match self {
            Self::ManagedResources => run::run(seed, keeps_journal),
            Self::Compositions => compositions::run(seed, keeps_journal),
        }
    }

    /// Seeds that once failed, of the files `seeds.txt` and `composition-seeds.txt`.
    ///
    /// # Panics
    /// The file holds something else.
    pub fn known(self) -> Vec<u64> {
        let file = match self {
            Self::ManagedResources => include_str!("../../seeds.txt"),
            Self::Compositions => include_str!("../../composition-seeds.txt"),
        };
        read(file)
    }

    /// What must happen in so many seeds, and did not.
    pub fn never_happened(self, seeds: usize, counts: &Counts) -> Vec<String> {
        let must = self.must_happen();
        if seeds < must.in_seeds {
            return Vec::new();
        }
        must.missing(counts)
    }

    pub(super) fn must_happen(self) -> MustHappen {
        match self {
            Self::ManagedResources => coverage::MANAGED_RESOURCES,
            Self::Compositions => coverage::COMPOSITIONS,
        }
    }

    /// As flags of the command line name it.
    pub fn flag(self) -> &'static str {
        match self {
            Self::ManagedResources => "",
            Self::Compositions => " --compositions",
        }
    }

    /// The file of a run's results.
    pub fn results(self) -> &'static str {
        match self {
            Self::ManagedResources => "simulation.json",
            Self::Compositions => "simulation-compositions.json",
        }
    }
}

#[allow(clippy::expect_used)] // A mistake in the file.
fn read(file: &str) -> Vec<u64> {
    let lines = file.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.parse().expect("a line of seeds is a number or a comment"))
        .collect()
}
