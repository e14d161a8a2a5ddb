//! What happened, in words, and what the bridge logged.

use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parking_lot::Mutex;
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use super::time::Time;

/// What seeds put into Secrets begins with `canary`; this is how it begins where a Secret holds it.
const ENCODED: &str = "Y2FuYXJ5";

/// Whether any of it stands in a text.
pub(super) fn exposes_secret(text: &str) -> bool {
    text.contains("canary") || text.contains(ENCODED)
}

/// The event log of one simulation.
#[derive(Clone)]
pub(crate) struct Journal {
    time: Time,
    /// `None`: it is not going to be read.
    lines: Option<Arc<Mutex<Vec<String>>>>,
    errors: Arc<Mutex<Vec<String>>>,
    /// What the bridge logs is searched for secrets, as it logs by default.
    listens: Arc<AtomicBool>,
    /// The API server is away for long.
    outage: Arc<AtomicBool>,
}

impl Journal {
    pub(crate) fn new(time: Time, kept: bool) -> Self {
        Self {
            time,
            lines: kept.then(Arc::default),
            errors: Arc::default(),
            listens: Arc::default(),
            outage: Arc::default(),
        }
    }

    /// What the bridge logs is searched for secrets.
    pub(crate) fn listen(&self) {
        self.listens.store(true, Ordering::Relaxed);
    }

    /// The API server is going to be away for as long as a pass may take: one that holds an answer tries to persist it for longer than that, and an
    /// error says so.
    pub(crate) fn expect_outage(&self) {
        self.outage.store(true, Ordering::Relaxed);
    }

    /// Whether an error with this text is no fault.
    fn expects(&self, text: &str) -> bool {
        self.outage.load(Ordering::Relaxed) && text.contains("outcome=\"timed-out\"")
    }

    /// Writes one line, with the simulated time; free where no lines are kept.
    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let at = self.time.since_start().as_secs_f64();
            lines.lock().push(format!("{at:>10.3}  {}", line()));
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines
            .as_ref()
            .map(|lines| lines.lock().clone())
            .unwrap_or_default()
    }

    /// What the bridge logged and should not have.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.lock().clone()
    }

    /// The level of tracing that the journal needs.
    pub(crate) fn level(&self) -> Level {
        if self.lines.is_some() || self.listens.load(Ordering::Relaxed) {
            Level::INFO
        } else {
            Level::ERROR
        }
    }

    /// `status.crossbridge` and tokens are random: a log is to be the same each time.
    pub(crate) fn without_chance(text: &str) -> String {
        let is_word = |c: char| c.is_ascii_hexdigit() || c == '-';
        let mut clean = String::with_capacity(text.len());
        for part in text.split_inclusive(|c: char| !is_word(c)) {
            let word = part.trim_end_matches(|c: char| !is_word(c));
            let random = word.len() == 36 && word.matches('-').count() == 4 && !word.starts_with("00000000-");
            // Of questions, and of the names of events.
            let question = matches!(word.len(), 8 | 16) && word.chars().all(|c| c.is_ascii_hexdigit());
            if random || question {
                clean.push('*');
                clean.push_str(&part[word.len()..]);
            } else {
                clean.push_str(part);
            }
        }
        clean
    }
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut words = Words(String::new());
        event.record(&mut words);
        let level = *event.metadata().level();
        let text = Self::without_chance(&words.0);
        if level == Level::ERROR && !self.expects(&text) {
            self.errors.lock().push(format!("no_error_is_logged:{text}"));
        }
        if exposes_secret(&text) {
            self.errors.lock().push(format!("no_secret_is_logged:{text}"));
        }
        self.note(|| {
            format!(
                "  {} {}:{text}",
                level.as_str().to_lowercase(),
                event.metadata().target()
            )
        });
    }
}

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let name = field.name();
        // Writing to a string cannot fail.
        let _ = if name == "message" {
            write!(self.0, " {value:?}")
        } else {
            write!(self.0, " {name}={value:?}")
        };
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::{Journal, Time};

    fn errors(journal: &Journal) -> usize {
        let subscriber = tracing_subscriber::registry().with(journal.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::error!(outcome = "timed-out", "a pass did not end as it should");
            tracing::error!(outcome = "panicked", "a pass did not end as it should");
        });
        journal.errors().len()
    }

    #[test]
    fn a_pass_outlives_its_limit_only_where_the_api_server_is_away() {
        assert_eq!(errors(&Journal::new(Time::default(), false)), 2);
        let journal = Journal::new(Time::default(), false);
        journal.expect_outage();
        assert_eq!(errors(&journal), 1);
    }
}
