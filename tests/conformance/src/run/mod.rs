//! A run of the kit: which stories, about what, in which order, and what is left afterwards.

mod requirements;
mod selection;

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use crossbridge_types::{Example, Kind, PluginInfo};
use requirements::requirements;
pub use selection::Selection;

use crate::{
    always::Watch,
    assertion::Assertion,
    bench::{Bench, PLUGIN, canaries_of, made_up},
    book::Book,
    client::{Client, Terms},
    endpoint::Endpoint,
    fixtures::{Fixtures, desired},
    hands::Hands,
    lab::{Lab, Thing},
    secrets::Canaries,
    stories::{self, kind::repeat::came_late, plugin::kinds::discover},
    verdict::{Finding, Stop, Verdict},
};

/// Told of each subject and of each finding as they come up.
pub trait Progress: Send + Sync {
    /// All findings on one subject, once its stories are told.
    fn subject(&self, subject: &str, findings: &[Finding]);
    /// A story about the subject begins.
    fn begins(&self, subject: &str);
}

/// What came out.
#[derive(Debug)]
pub struct Report {
    /// Name and version of the plugin; empty: it did not say.
    pub plugin: String,
    /// By subject, then by id.
    pub findings: Vec<Finding>,
    /// What was to be judged.
    pub selection: Selection,
    /// Secrets that no answer was searched for, by name.
    pub short_secrets: Vec<String>,
    /// What could not be removed, for people.
    pub left_behind: Vec<String>,
}

/// A run that is ready to begin.
pub struct Run {
    bench: Bench,
    selection: Selection,
    repeat: usize,
    labs: std::sync::Mutex<Vec<Lab>>,
    /// Its name and version, once it has told them.
    plugin: OnceLock<String>,
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}

impl Run {
    pub(crate) fn new(
        endpoint: Endpoint,
        fixtures: Fixtures,
        hands: Hands,
        selection: Selection,
        repeat: usize,
        patience: Duration,
    ) -> Result<Self, String> {
        let book = Arc::new(Book::default());
        let mut canaries = Canaries::default();
        let made_up_config = made_up(&fixtures.config);
        let configs = [
            Some(&fixtures.config),
            made_up_config.as_ref(),
            fixtures.bad_config.as_ref(),
            fixtures.other_config.as_ref(),
            fixtures.dead_config.as_ref(),
        ];
        for config in configs.into_iter().flatten() {
            canaries_of(config, &mut canaries);
        }
        let watch = Watch {
            book: Arc::clone(&book),
            subject: PLUGIN.to_owned(),
            canaries,
            connection_keys: None,
        };
        let channel = endpoint.channel(None).map_err(|error| error.to_string())?;
        let bench = Bench {
            client: Client::new(channel, watch),
            endpoint,
            info: None,
            kinds: Arc::default(),
            chosen: Arc::default(),
            made_up_config: made_up_config.map(Arc::new),
            fixtures: Arc::new(fixtures),
            hands: Arc::new(hands),
            registry: Arc::default(),
            book,
            patience,
        };
        Ok(Self {
            bench,
            selection,
            repeat,
            labs: std::sync::Mutex::default(),
            plugin: OnceLock::new(),
        })
    }

    /// Tells all stories. May be dropped at any time; then [`finish`](Self::finish).
    pub async fn tell(&self, progress: &dyn Progress) -> Result<(), String> {
        let channel = self.bench.client.channel();
        self.bench
            .hands
            .start(&channel)
            .await
            .map_err(|stop| stop.to_string())?;
        let mut bench = self.bench.clone();
        bench.info = ask_info(&bench).await.map(Arc::new);
        if let Some(info) = &bench.info {
            // Told once: a run is told once.
            let _ = self.plugin.set(format!("{} {}", info.name, info.version));
        }
        bench.kinds = Arc::new(discover(&bench).await.unwrap_or_default());
        self.check_kinds()?;
        let chosen = bench.kinds.iter().filter(|kind| self.takes(kind));
        bench.chosen = Arc::new(chosen.cloned().collect());
        // Whatever is made of a kind is removed in the end.
        for kind in bench.chosen.iter() {
            let example = bench.fixtures.examples_of(kind).into_iter().next();
            self.remember(&Lab::new(&bench, kind, &example.unwrap_or_else(no_example)));
        }
        for _ in 0..self.repeat {
            progress.begins(PLUGIN);
            for story in stories::OF_PLUGIN {
                if story.judges(|assertion| self.selection.takes(assertion)) {
                    story.tell(&bench).await;
                }
            }
        }
        self.show(PLUGIN, progress);
        let chosen = Arc::clone(&bench.chosen);
        for kind in chosen.iter() {
            let subject = &kind.resource_type.kind;
            progress.begins(subject);
            self.tell_kind(&bench, kind).await;
            self.show(subject, progress);
        }
        for lab in self.known_labs() {
            came_late(&lab).await;
        }
        self.judge_logs(&bench);
        Ok(())
    }

    fn takes(&self, kind: &Kind) -> bool {
        self.selection.takes_kind(&kind.resource_type.kind)
    }

    /// Nobody believes in a verdict on kinds that are not there. A plugin that does not say what it serves is judged for that.
    fn check_kinds(&self) -> Result<(), String> {
        // Those that are out of form are judged under their names too.
        let served: BTreeSet<String> = self
            .bench
            .book
            .findings()
            .into_iter()
            .map(|finding| finding.subject)
            .filter(|subject| subject != PLUGIN)
            .collect();
        let named = self.selection.kinds.iter();
        let unknown: Vec<&str> = named
            .chain(self.bench.fixtures.examples.keys())
            .filter(|kind| !served.contains(*kind))
            .map(String::as_str)
            .collect();
        if unknown.is_empty() || served.is_empty() {
            return Ok(());
        }
        let served: Vec<String> = served.into_iter().collect();
        Err(format!(
            "the plugin serves no {}; it serves {}",
            unknown.join(" and no "),
            served.join(", ")
        ))
    }

    /// All secrets that were ever sent count.
    fn judge_logs(&self, bench: &Bench) {
        if !self.selection.takes(stories::plugin::logs::ALL[0]) {
            return;
        }
        let mut canaries = bench.client.watch().canaries.clone();
        for kind in bench.kinds.iter() {
            for example in bench.fixtures.examples_of(kind) {
                canaries.add_sensitive(&example);
            }
        }
        stories::plugin::logs::judge(bench, &canaries);
    }

    async fn tell_kind(&self, bench: &Bench, kind: &Arc<Kind>) {
        let examples = bench.fixtures.examples_of(kind);
        // A kind that is only observed needs none.
        let examples = if examples.is_empty() {
            vec![no_example()]
        } else {
            examples
        };
        for _ in 0..self.repeat {
            for (index, example) in examples.iter().enumerate() {
                let lab = Lab::new(bench, kind, example);
                self.remember(&lab);
                // Nothing is called for that one.
                stories::kind::examples::STORY.tell(&lab).await;
                let needed = self.require(bench, example).await;
                for story in stories::OF_KIND {
                    let is_wanted = story.judges(|assertion| self.selection.takes(assertion));
                    // The first example stands for the kind; the others only live.
                    let is_due = index == 0 || story.assertions.contains(&stories::kind::life::ALL[0]);
                    if is_wanted && is_due {
                        match &needed {
                            Ok(_) => story.tell(&lab).await,
                            Err(stop) => block(story.assertions, &lab, stop),
                        }
                        lab.tidy().await;
                    }
                }
                came_late(&lab).await;
                for (lab, thing) in needed.unwrap_or_default().iter().rev() {
                    // What resists is told at the end.
                    let _ = lab.remove(thing).await;
                }
            }
        }
    }

    /// Makes what an example needs, under its own name.
    async fn require(&self, bench: &Bench, example: &Example) -> Result<Vec<(Lab, Thing)>, Stop> {
        let mut made = Vec::new();
        for (kind, needed) in requirements(bench, example)? {
            let lab = Lab::new(bench, &kind, &needed);
            self.remember(&lab);
            let parameters = needed.create_parameters.clone().unwrap_or_default();
            let mut thing = lab.thing_of(
                &needed.external_name,
                desired(&parameters, &needed.sensitive_values),
            );
            lab.make(&mut thing).await?;
            made.push((lab, thing));
        }
        Ok(made)
    }

    fn remember(&self, lab: &Lab) {
        let mut labs = self
            .labs
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if !labs
            .iter()
            .any(|known| known.kind.resource_type == lab.kind.resource_type)
        {
            labs.push(lab.clone());
        }
    }

    fn known_labs(&self) -> Vec<Lab> {
        let labs = self.labs.lock();
        labs.unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn show(&self, subject: &str, progress: &dyn Progress) {
        let findings: Vec<_> = self
            .findings()
            .into_iter()
            .filter(|finding| finding.subject == subject)
            .collect();
        progress.subject(subject, &findings);
    }

    /// Those that were asked for, and those that were left out on demand.
    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<_> = self
            .bench
            .book
            .findings()
            .into_iter()
            .filter_map(|mut finding| {
                if self.selection.skips(finding.assertion) {
                    finding.verdict = Verdict::Skipped;
                    return Some(finding);
                }
                self.selection.takes(finding.assertion).then_some(finding)
            })
            .collect();
        let known: BTreeSet<_> = findings.iter().map(|finding| finding.assertion.id).collect();
        let skipped: Vec<_> = stories::assertions()
            .into_iter()
            .filter(|assertion| self.selection.skips(assertion) && !known.contains(assertion.id))
            .map(|assertion| Finding {
                assertion,
                subject: PLUGIN.to_owned(),
                verdict: Verdict::Skipped,
            })
            .collect();
        findings.extend(skipped);
        findings
    }

    /// Removes all that was made, ends what was started, and says what came out.
    pub async fn finish(&self) -> Report {
        let labs = self.known_labs();
        if !self.bench.registry.all().is_empty() {
            // It may have been killed in the middle of a story.
            let _ = self.bench.hands.start(&self.bench.client.channel()).await;
        }
        for lab in &labs {
            lab.tidy().await;
        }
        self.bench.hands.end().await;
        let benches = labs.iter().map(|lab| &lab.bench).chain([&self.bench]);
        let short_secrets: BTreeSet<&str> = benches
            .flat_map(|bench| bench.client.watch().canaries.short())
            .collect();
        Report {
            plugin: self.plugin.get().cloned().unwrap_or_default(),
            findings: self.findings(),
            selection: self.selection.clone(),
            short_secrets: short_secrets.into_iter().map(str::to_owned).collect(),
            left_behind: self.bench.registry.all().iter().map(told).collect(),
        }
    }
}

fn told(thing: &Thing) -> String {
    let kind = thing.kind();
    match thing.name() {
        "" => format!(
            "perhaps a {kind} whose name nobody learned, marker {}",
            thing.marker()
        ),
        name => format!("{kind} {name:?}, marker {}", thing.marker()),
    }
}

fn block(assertions: &[&'static Assertion], lab: &Lab, stop: &Stop) {
    for assertion in assertions {
        let why = format!("what the example requires: {stop}");
        lab.bench.note(assertion, Verdict::Blocked(why));
    }
}

fn no_example() -> Example {
    Example {
        name: "none".to_owned(),
        external_name: String::new(),
        create_parameters: None,
        update_parameters: None,
        invalid_parameters: None,
        sensitive_values: std::collections::BTreeMap::new(),
        requires: Vec::new(),
    }
}

async fn ask_info(bench: &Bench) -> Option<PluginInfo> {
    let request = crossbridge_proto::v1alpha1::GetPluginInfoRequest::default();
    let terms = Terms::within(Duration::from_secs(5)).rough();
    let answer = bench.client.get_plugin_info(request, terms).await.ok()?;
    PluginInfo::try_from(answer).ok()
}
