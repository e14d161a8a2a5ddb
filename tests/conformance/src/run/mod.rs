//! A run of the kit: which suites, about what, in which order, and what is left afterwards.

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
    assertion::Assertion,
    client::{CallOptions, Client},
    endpoint::Endpoint,
    fixtures::Fixtures,
    kind_context::{KindContext, TestResource},
    process_control::ProcessControl,
    response_rules::ResponseRules,
    run_context::{PLUGIN, RunContext, canaries_of, with_invalid_credentials},
    secrets::Canaries,
    suites::{self, kind::repeat::check_late_effects, plugin::kinds::discover},
    verdict::{Finding, Stop, Verdict},
    verdict_log::VerdictLog,
};

/// Receives each subject and its findings as they come up.
pub trait Progress: Send + Sync {
    /// All findings on one subject, once its suites have run.
    fn subject(&self, subject: &str, findings: &[Finding]);
    /// The suites of the subject begin.
    fn begins(&self, subject: &str);
}

/// The findings of one run, and what surrounds them.
#[derive(Debug)]
pub struct Report {
    /// Name and version of the plugin; empty: not reported.
    pub plugin: String,
    /// By subject, then by id.
    pub findings: Vec<Finding>,
    /// What was to be judged.
    pub selection: Selection,
    /// Secrets that no answer was searched for, by name.
    pub unsearched_secrets: Vec<String>,
    /// What could not be removed, for people.
    pub left_behind: Vec<String>,
}

/// A run that is ready to begin.
pub struct Run {
    context: RunContext,
    selection: Selection,
    repeat: usize,
    contexts: std::sync::Mutex<Vec<KindContext>>,
    /// Name and version of the plugin, once it has reported them.
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
        process_control: ProcessControl,
        selection: Selection,
        repeat: usize,
        operation_timeout: Duration,
    ) -> Result<Self, String> {
        let verdict_log = Arc::new(VerdictLog::default());
        let process_control = Arc::new(process_control);
        let mut canaries = Canaries::default();
        let invalid_credentials_config = with_invalid_credentials(&fixtures.config);
        let configs = [
            Some(&fixtures.config),
            invalid_credentials_config.as_ref(),
            fixtures.bad_config.as_ref(),
            fixtures.other_config.as_ref(),
            fixtures.dead_config.as_ref(),
        ];
        for config in configs.into_iter().flatten() {
            canaries_of(config, &mut canaries);
        }
        let watch = ResponseRules {
            verdict_log: Arc::clone(&verdict_log),
            subject: PLUGIN.to_owned(),
            canaries,
            connection_keys: None,
            process_control: Arc::clone(&process_control),
        };
        let channel = endpoint.channel(None).map_err(|error| error.to_string())?;
        let run_ctx = RunContext {
            client: Client::new(channel, watch),
            endpoint,
            info: None,
            kinds: Arc::default(),
            chosen: Arc::default(),
            invalid_credentials_config: invalid_credentials_config.map(Arc::new),
            fixtures: Arc::new(fixtures),
            process_control,
            registry: Arc::default(),
            verdict_log,
            operation_timeout,
        };
        Ok(Self {
            context: run_ctx,
            selection,
            repeat,
            contexts: std::sync::Mutex::default(),
            plugin: OnceLock::new(),
        })
    }

    /// Runs all suites. May be dropped at any time; then [`finish`](Self::finish).
    pub async fn execute(&self, progress: &dyn Progress) -> Result<(), String> {
        let channel = self.context.client.channel();
        self.context
            .process_control
            .start(&channel)
            .await
            .map_err(|stop| stop.to_string())?;
        let mut run_ctx = self.context.clone();
        run_ctx.info = ask_info(&run_ctx).await.map(Arc::new);
        if let Some(info) = &run_ctx.info {
            // Set once: a run is executed once.
            let _ = self.plugin.set(format!("{} {}", info.name, info.version));
        }
        run_ctx.kinds = Arc::new(discover(&run_ctx).await.unwrap_or_default());
        self.check_kinds()?;
        let chosen = run_ctx.kinds.iter().filter(|kind| self.takes(kind));
        run_ctx.chosen = Arc::new(chosen.cloned().collect());
        // Whatever is created of a kind is removed in the end.
        for kind in run_ctx.chosen.iter() {
            let example = run_ctx.fixtures.examples_of(kind).into_iter().next();
            self.remember(&KindContext::new(
                &run_ctx,
                kind,
                &example.unwrap_or_else(no_example),
            ));
        }
        for _ in 0..self.repeat {
            progress.begins(PLUGIN);
            for suite in suites::PLUGIN_SUITES {
                if !self.is_over() && suite.judges(|assertion| self.selection.takes(assertion)) {
                    suite.execute(&run_ctx).await;
                }
            }
        }
        self.show(PLUGIN, progress);
        let chosen = Arc::clone(&run_ctx.chosen);
        for kind in chosen.iter().take_while(|_| !self.is_over()) {
            let subject = &kind.resource_type.kind;
            progress.begins(subject);
            self.run_kind(&run_ctx, kind).await;
            self.show(subject, progress);
        }
        if self.is_over() {
            return Ok(());
        }
        for ctx in self.known_contexts() {
            check_late_effects(&ctx).await;
        }
        self.judge_logs(&run_ctx);
        Ok(())
    }

    /// A rule failed, and the first failure was to end the run.
    fn is_over(&self) -> bool {
        let failed = |finding: &Finding| matches!(finding.verdict, Verdict::Failed(_));
        self.selection.fail_fast && self.findings().iter().any(failed)
    }

    fn takes(&self, kind: &Kind) -> bool {
        self.selection.takes_kind(&kind.resource_type.kind)
    }

    /// Rejects a selection of kinds that the plugin does not serve. A plugin that does not report its kinds is judged for that.
    fn check_kinds(&self) -> Result<(), String> {
        // Those that are out of form are judged under their names too.
        let served: BTreeSet<String> = self
            .context
            .verdict_log
            .findings()
            .into_iter()
            .map(|finding| finding.subject)
            .filter(|subject| subject != PLUGIN)
            .collect();
        let named = self.selection.kinds.iter();
        let unknown: Vec<&str> = named
            .chain(self.context.fixtures.examples.keys())
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
    fn judge_logs(&self, run_ctx: &RunContext) {
        if !self.selection.takes(suites::plugin::logs::ALL[0]) {
            return;
        }
        let mut canaries = run_ctx.client.watch().canaries.clone();
        for kind in run_ctx.kinds.iter() {
            for example in run_ctx.fixtures.examples_of(kind) {
                canaries.add_sensitive(&example);
            }
        }
        suites::plugin::logs::judge(run_ctx, &canaries);
    }

    async fn run_kind(&self, run_ctx: &RunContext, kind: &Arc<Kind>) {
        let examples = run_ctx.fixtures.examples_of(kind);
        // A kind that is only observed needs none.
        let examples = if examples.is_empty() {
            vec![no_example()]
        } else {
            examples
        };
        for _ in 0..self.repeat {
            for (index, example) in examples.iter().enumerate().take_while(|_| !self.is_over()) {
                let ctx = KindContext::new(run_ctx, kind, example);
                self.remember(&ctx);
                // Nothing is called for that one.
                suites::kind::examples::SUITE.execute(&ctx).await;
                let needed = self.require(run_ctx, example).await;
                for suite in suites::KIND_SUITES {
                    if self.is_over() {
                        break;
                    }
                    let is_wanted = suite.judges(|assertion| self.selection.takes(assertion));
                    // The first example stands for the kind; the others only live.
                    let is_due = index == 0 || suite.assertions.contains(&suites::kind::lifecycle::ALL[0]);
                    if is_wanted && is_due {
                        match &needed {
                            Ok(_) => suite.execute(&ctx).await,
                            Err(stop) => block(suite.assertions, &ctx, stop),
                        }
                        ctx.delete_all().await;
                    }
                }
                if !self.is_over() {
                    check_late_effects(&ctx).await;
                }
                for (ctx, resource) in needed.unwrap_or_default().iter().rev() {
                    // What cannot be deleted is reported at the end.
                    let _ = ctx.remove(resource).await;
                }
            }
        }
    }

    /// Creates the resources that an example requires, under their own names.
    async fn require(
        &self,
        run_ctx: &RunContext,
        example: &Example,
    ) -> Result<Vec<(KindContext, TestResource)>, Stop> {
        let mut created = Vec::new();
        for (kind, needed) in requirements(run_ctx, example)? {
            let ctx = KindContext::new(run_ctx, &kind, &needed);
            self.remember(&ctx);
            let mut resource = ctx.example_named(&needed.external_name);
            ctx.create_to_completion(&mut resource).await?;
            created.push((ctx, resource));
        }
        Ok(created)
    }

    fn remember(&self, ctx: &KindContext) {
        let mut contexts = self
            .contexts
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if !contexts
            .iter()
            .any(|known| known.kind.resource_type == ctx.kind.resource_type)
        {
            contexts.push(ctx.clone());
        }
    }

    fn known_contexts(&self) -> Vec<KindContext> {
        let contexts = self.contexts.lock();
        contexts
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone()
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
            .context
            .verdict_log
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
        let skipped: Vec<_> = suites::assertions()
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

    /// Removes all that was created, ends what was started, and reports what came out.
    pub async fn finish(&self) -> Report {
        let contexts = self.known_contexts();
        if !self.context.registry.all().is_empty() {
            // It may have been killed in the middle of a suite.
            let _ = self
                .context
                .process_control
                .start(&self.context.client.channel())
                .await;
        }
        for ctx in &contexts {
            ctx.delete_all().await;
        }
        self.context.process_control.end().await;
        let run_contexts = contexts.iter().map(|ctx| &ctx.run_ctx).chain([&self.context]);
        let unsearched_secrets: BTreeSet<&str> = run_contexts
            .flat_map(|run_ctx| run_ctx.client.watch().canaries.short())
            .collect();
        Report {
            plugin: self.plugin.get().cloned().unwrap_or_default(),
            findings: self.findings(),
            selection: self.selection.clone(),
            unsearched_secrets: unsearched_secrets.into_iter().map(str::to_owned).collect(),
            left_behind: self.context.registry.all().iter().map(describe).collect(),
        }
    }
}

fn describe(resource: &TestResource) -> String {
    let kind = resource.kind();
    match resource.name() {
        "" => format!(
            "perhaps a {kind} whose name was never reported, marker {}",
            resource.marker()
        ),
        name => format!("{kind} {name:?}, marker {}", resource.marker()),
    }
}

fn block(assertions: &[&'static Assertion], ctx: &KindContext, stop: &Stop) {
    for assertion in assertions {
        let why = format!("what the example requires: {stop}");
        ctx.run_ctx.note(assertion, Verdict::Blocked(why));
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

async fn ask_info(run_ctx: &RunContext) -> Option<PluginInfo> {
    let request = crossbridge_proto::v1alpha1::GetPluginInfoRequest::default();
    let options = CallOptions::within(Duration::from_secs(5)).tolerant();
    let response = run_ctx.client.get_plugin_info(request, options).await.ok()?;
    PluginInfo::try_from(response).ok()
}
