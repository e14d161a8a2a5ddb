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
        read(self.file()).into_iter().map(|known| known.seed).collect()
    }

    fn file(self) -> &'static str {
        match self {
            Self::ManagedResources => include_str!("../../seeds.txt"),
            Self::Compositions => include_str!("../../composition-seeds.txt"),
        }
    }

    /// The edition of what is drawn of a seed of compositions. One that is known keeps that in which it failed, as what is drawn later would give
    /// it another schedule.
    pub(super) fn edition(self, seed: u64) -> u32 {
        let known = read(self.file()).into_iter().find(|one| one.seed == seed);
        known.and_then(|known| known.edition).unwrap_or(NEWEST_EDITION)
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

/// Of what is drawn since the last edition. One more of it is another edition.
const NEWEST_EDITION: u32 = 3;

/// A seed that once failed.
struct Known {
    seed: u64,
    /// `None`: the newest.
    edition: Option<u32>,
}

#[allow(clippy::expect_used)] // A mistake in the file.
fn read(file: &str) -> Vec<Known> {
    let lines = file.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (seed, edition) = match line.split_once(" edition ") {
                Some((seed, edition)) => (seed, Some(edition)),
                None => (line, None),
            };
            Known {
                seed: seed
                    .parse()
                    .expect("a line of seeds begins with a number, or is a comment"),
                edition: edition.map(|edition| edition.parse().expect("an edition is a number")),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{NEWEST_EDITION, SeedKind, read};

    #[test]
    fn a_known_seed_keeps_its_edition() {
        assert_eq!(SeedKind::Compositions.edition(7), 1);
        assert_eq!(SeedKind::Compositions.edition(8), NEWEST_EDITION);
        let known = read("# why\n12\n\n13 edition 1\n");
        let known: Vec<_> = known.into_iter().map(|one| (one.seed, one.edition)).collect();
        assert_eq!(known, [(12, None), (13, Some(1))]);
    }
}
