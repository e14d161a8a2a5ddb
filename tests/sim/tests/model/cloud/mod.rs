//! A cloud of one kind, and its plugin: what there is, what a look shows of it, and what happens by itself.

mod answer;
mod calls;

pub use answer::{failed, failure, secrets};

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use bridge_core::{
    external::{
        Absent, DesiredState, Document, Effect, Observation, ObserveResult, Operation, OperationVerb,
        Secrets, Target,
    },
    kind::{CreateRecovery, DiffMode, NameSource},
    managed::{Call, ObserveCall},
};
use jiff::Timestamp;

use crate::kinds::Subject;

/// Tells things of the cloud apart, whatever their names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Id(pub u64);

impl std::fmt::Debug for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "id-{}", self.0)
    }
}

/// One thing in the cloud.
#[derive(Debug, Clone, PartialEq)]
pub struct External {
    pub id: Id,
    pub name: String,
    /// Where it is seen: each account has names of its own.
    pub account: String,
    pub marker: String,
    /// The uid that it was made for; empty: somebody else's.
    pub made_for: String,
    /// The uid that sent the last Update.
    pub changed_for: String,
    pub parameters: Document,
    pub sensitive: Secrets,
    pub state: State,
    /// Looks miss it before this.
    pub visible: Timestamp,
    /// Looks miss its marker before this.
    pub marker_visible: Timestamp,
}

/// What is becoming of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Until then; `None`: until it is driven on.
    Creating(Option<Timestamp>),
    Ready,
    /// Its removal has begun, and goes on only when driven.
    Disabled,
    Deleting(Timestamp),
}

/// Work that outlasts a call.
#[derive(Debug, Clone, PartialEq)]
struct Work {
    operation: Operation,
    /// Of what; `None`: it is not made yet.
    object: Option<Id>,
    ends: Timestamp,
    fails: Option<Effect>,
    forgotten: bool,
    name: String,
    account: String,
    /// `None`: somebody else's.
    request: Option<Box<Call>>,
}

/// What a token stands for.
#[derive(Debug, Clone, PartialEq)]
struct Used {
    request: String,
    name: String,
    object: Option<Id>,
    handle: String,
    first: Timestamp,
}

/// A removal, and on whose behalf.
#[derive(Debug, Clone, PartialEq)]
pub struct Removed {
    pub external: External,
    /// Empty: by hand.
    pub by: String,
}

/// The cloud.
#[allow(clippy::struct_excessive_bools)] // Each is a habit of its own.
#[derive(Debug, Clone)]
pub struct Cloud {
    subject: Subject,
    pub objects: Vec<External>,
    /// Newest last.
    pub removed: Vec<Removed>,
    /// Updates that have not come to pass.
    changes: Vec<(Timestamp, Id, Box<Call>)>,
    work: BTreeMap<String, Work>,
    tokens: BTreeMap<String, Used>,
    count: u64,
    /// How long what is made stays invisible.
    pub visibility: Duration,
    /// How long a marker does.
    pub marker_visibility: Duration,
    /// Looks say "absent" until then.
    pub blip: Option<Timestamp>,
    /// The next long creation ends like this.
    pub next_creation_fails: Option<Effect>,
    /// Handles are good for so long.
    pub operations_expire: Option<Duration>,
    /// Updates are accepted, and change nothing.
    pub ignores_updates: bool,
    /// What is created has its `fixed` in capitals.
    pub spells_otherwise: bool,
    /// The plugin does not tell the names that it works out.
    pub keeps_names_to_itself: bool,
    /// Deletes are accepted, and remove nothing.
    pub keeps_what_is_deleted: bool,
    /// What running operations tell: percent, and the step.
    pub progress: Option<(u8, String)>,
    /// How long things take upstream where they take long.
    pub work_takes: Duration,
    /// How often each call was processed.
    pub calls: BTreeMap<&'static str, u32>,
}

impl Cloud {
    pub fn new(subject: Subject) -> Self {
        Self {
            subject,
            objects: Vec::new(),
            removed: Vec::new(),
            changes: Vec::new(),
            work: BTreeMap::new(),
            tokens: BTreeMap::new(),
            count: 0,
            visibility: Duration::ZERO,
            marker_visibility: Duration::ZERO,
            blip: None,
            next_creation_fails: None,
            operations_expire: None,
            ignores_updates: false,
            spells_otherwise: false,
            keeps_names_to_itself: false,
            keeps_what_is_deleted: false,
            progress: None,
            work_takes: crate::kinds::WORK,
            calls: BTreeMap::new(),
        }
    }

    /// Those that were made for this object.
    pub fn made_for(&self, uid: &str) -> Vec<&External> {
        self.objects.iter().filter(|one| one.made_for == uid).collect()
    }

    /// Somebody else makes one in our account.
    pub fn foreign(&mut self, name: &str, marker: &str, parameters: &Document, now: Timestamp) {
        self.foreign_in("account-1", name, marker, parameters, now);
    }

    /// Somebody else makes one.
    pub fn foreign_in(
        &mut self,
        account: &str,
        name: &str,
        marker: &str,
        parameters: &Document,
        now: Timestamp,
    ) {
        if self
            .objects
            .iter()
            .any(|one| one.name == name && one.account == account)
        {
            return;
        }
        self.count += 1;
        self.objects.push(External {
            id: Id(self.count),
            name: name.to_owned(),
            account: account.to_owned(),
            marker: marker.to_owned(),
            made_for: String::new(),
            changed_for: String::new(),
            parameters: parameters.clone(),
            sensitive: Secrets::default(),
            state: State::Ready,
            visible: now,
            marker_visible: now,
        });
    }

    /// Somebody removes what `picks` picks by hand.
    pub fn remove_by_hand(&mut self, picks: impl Fn(&External) -> bool) {
        let picked: Vec<Id> = self
            .objects
            .iter()
            .filter(|one| picks(one))
            .map(|one| one.id)
            .collect();
        for id in picked {
            self.remove_and_free(id, "", false);
        }
    }

    /// Somebody changes it by hand, as slowly as we would: looks tell of the operation.
    pub fn begin_update_by_hand(&mut self, name: &str, now: Timestamp) {
        let Some((id, account)) = self
            .find(name, "account-1")
            .map(|one| (one.id, one.account.clone()))
        else {
            return;
        };
        let operation = answer::operation("by hand", OperationVerb::Update, false);
        let work = Work {
            operation: operation.clone(),
            object: Some(id),
            ends: now + self.work_takes,
            fails: None,
            forgotten: false,
            name: name.to_owned(),
            account,
            request: None,
        };
        self.work.insert(operation.handle, work);
    }

    /// Somebody begins to remove it, in steps that go on only when they are polled.
    pub fn begin_removal_by_hand(&mut self, name: &str) {
        let Some(one) = self.objects.iter_mut().find(|one| one.name == name) else {
            return;
        };
        one.state = State::Disabled;
        let work = Work {
            operation: answer::operation("remove", OperationVerb::Delete, true),
            object: Some(one.id),
            ends: Timestamp::MAX,
            fails: None,
            forgotten: false,
            name: name.to_owned(),
            account: one.account.clone(),
            request: None,
        };
        self.work.insert("by hand".to_owned(), work);
    }

    /// What runs on it by somebody else's doing.
    fn by_hand(&self, id: Id, now: Timestamp) -> Option<Operation> {
        let work = self.work.get("by hand")?;
        (work.object == Some(id) && work.ends > now).then(|| work.operation.clone())
    }

    /// Every operation is forgotten.
    pub fn forget_operations(&mut self) {
        for work in self.work.values_mut() {
            work.forgotten = true;
        }
        for object in &mut self.objects {
            if object.state == State::Creating(None) {
                object.state = State::Ready;
            }
        }
    }

    /// Updates that were accepted come to nothing, and their operations are forgotten.
    pub fn lose_updates(&mut self) {
        self.changes.clear();
        let updates = |work: &&mut Work| work.operation.verb == OperationVerb::Update;
        for work in self.work.values_mut().filter(updates) {
            work.forgotten = true;
        }
    }

    /// What happens by itself.
    pub fn settle(&mut self, now: Timestamp) {
        let ended: Vec<(Id, Option<Effect>)> = self
            .work
            .values()
            .filter(|work| work.ends <= now)
            .filter_map(|work| Some((work.object?, work.fails)))
            .collect();
        for (id, fails) in ended {
            let creating = self
                .objects
                .iter()
                .any(|one| one.id == id && matches!(one.state, State::Creating(_)));
            if creating && fails == Some(Effect::None) {
                self.remove(id, "");
            }
        }
        let due: Vec<(Id, Box<Call>)> = self
            .changes
            .extract_if(.., |(at, ..)| *at <= now)
            .map(|(_, id, call)| (id, call))
            .collect();
        for (id, call) in due {
            self.apply(id, &call);
        }
        let mut finished = Vec::new();
        for object in &mut self.objects {
            match object.state {
                State::Creating(Some(until)) if until <= now => object.state = State::Ready,
                State::Deleting(until) if until <= now => finished.push(object.id),
                _ => {}
            }
        }
        for id in finished {
            self.remove(id, "");
        }
    }

    /// When something happens by itself next.
    pub fn next_event(&self, now: Timestamp) -> Option<Timestamp> {
        let states = self.objects.iter().filter_map(|one| match one.state {
            State::Creating(Some(until)) | State::Deleting(until) => Some(until),
            _ => None,
        });
        states
            .chain(self.changes.iter().map(|(at, ..)| *at))
            .filter(|at| *at > now)
            .min()
    }

    /// What tells it from others; `text` holds what the rest of the model speaks of.
    pub fn describe(&self, text: &mut String, now: Timestamp) {
        for one in &self.objects {
            let one = External {
                visible: one.visible.max(now),
                marker_visible: one.marker_visible.max(now),
                ..one.clone()
            };
            let _ = write!(text, "{one:?} ");
        }
        let blip = self.blip.filter(|until| *until >= now);
        let _ = write!(
            text,
            "{:?} {blip:?} {:?} ",
            self.changes, self.next_creation_fails
        );
        // What nobody can name any more does not count.
        for (token, used) in &self.tokens {
            if text.contains(token) {
                let _ = write!(text, "{token} {used:?} ");
            }
        }
        for (handle, work) in &self.work {
            if text.contains(handle) {
                let ends = work.ends.max(now);
                let Work {
                    object,
                    fails,
                    forgotten,
                    name,
                    ..
                } = work;
                let _ = write!(text, "{handle} {ends:?} {object:?} {fails:?} {forgotten} {name} ");
                if work.operation.poll_driven {
                    let _ = write!(text, "{:?} ", work.request);
                }
            }
        }
    }

    /// The plugin looks.
    pub fn look(&mut self, asked: &ObserveCall, now: Timestamp) -> ObserveResult {
        let target = &asked.target;
        *self.calls.entry("observe").or_default() += 1;
        self.settle(now);
        let derived = match self.subject.kind.external_name.source {
            NameSource::Derived => derived_name(target),
            NameSource::User | NameSource::Provider => String::new(),
        };
        let name = if target.external_name.is_empty() {
            &derived
        } else {
            &target.external_name
        };
        assert!(
            !name.is_empty() || self.subject.recovers_by(CreateRecovery::Marker),
            "a look without a name, of a kind that cannot"
        );
        let visible = self.objects.iter().filter(|one| {
            one.visible <= now && self.is_shown(one) && self.is_here(one, target, &asked.desired)
        });
        let mut found = visible.filter(|one| {
            if name.is_empty() {
                one.marker_visible <= now && is_ours(&one.marker, target)
            } else {
                one.name == *name
            }
        });
        let compares = self.subject.kind.capabilities.diff_mode == DiffMode::Plugin;
        let blipped = self.blip.is_some_and(|until| now <= until);
        match found.next().filter(|_| !blipped) {
            Some(one) => ObserveResult::Found(Box::new(Observation {
                operation: self.by_hand(one.id, now),
                provider_state: match self.subject.manners {
                    manners if manners.placed => place(&one.parameters),
                    manners if manners.stateful => format!("state of {:?}", one.id),
                    _ => String::new(),
                },
                up_to_date: compares.then(|| one.parameters == asked.desired.parameters),
                ..answer::observation(one, now)
            })),
            None => ObserveResult::Absent(Absent {
                external_name: if self.keeps_names_to_itself {
                    String::new()
                } else {
                    derived
                },
            }),
        }
    }

    /// It lives where the plugin goes: by account, and by its own state, else by the desired state.
    fn is_here(&self, one: &External, target: &Target, desired: &DesiredState) -> bool {
        let wanted = match target.provider_state.as_str() {
            "" => place(&desired.parameters),
            state => state.to_owned(),
        };
        one.account == target.config.identity
            && (!self.subject.manners.placed || place(&one.parameters) == wanted)
    }

    /// What is seen only at the end of its creation is not there for any call before.
    fn is_shown(&self, one: &External) -> bool {
        !(self.subject.manners.shown_at_end && matches!(one.state, State::Creating(Some(_))))
    }

    /// A call that has to bring the state, and does not.
    fn misses_state(&self, call: &Call) -> bool {
        self.subject.manners.stateful && call.target.provider_state.is_empty()
    }

    /// The one of this name that there is, whether or not it is shown.
    fn find_for(&self, name: &str, call: &Call) -> Option<&External> {
        let mut objects = self.objects.iter();
        objects.find(|one| one.name == name && self.is_here(one, &call.target, &call.desired))
    }

    fn find(&self, name: &str, account: &str) -> Option<&External> {
        let mut objects = self.objects.iter();
        objects.find(|one| one.name == name && one.account == account)
    }

    fn get_mut(&mut self, id: Id) -> Option<&mut External> {
        self.objects.iter_mut().find(|one| one.id == id)
    }

    fn remove(&mut self, id: Id, by: &str) {
        self.remove_and_free(id, by, self.subject.manners.frees_tokens);
    }

    /// Where a token is forgotten with what somebody took away by hand, nobody can promise anything.
    fn remove_and_free(&mut self, id: Id, by: &str, frees_token: bool) {
        let Some(at) = self.objects.iter().position(|one| one.id == id) else {
            return;
        };
        let external = self.objects.remove(at);
        if frees_token {
            self.tokens.retain(|_, used| used.object != Some(id));
        }
        self.removed.push(Removed {
            external,
            by: by.to_owned(),
        });
    }

    fn apply(&mut self, id: Id, call: &Call) {
        let holds_marker = self.subject.kind.capabilities.holds_marker;
        if self.ignores_updates {
            return;
        }
        if let Some(object) = self.get_mut(id) {
            object.parameters.clone_from(&call.desired.parameters);
            object.sensitive.clone_from(&call.desired.sensitive);
            object.changed_for.clone_from(&call.target.owner.uid);
            if holds_marker {
                object.marker.clone_from(&call.target.ownership_marker);
            }
        }
    }
}

/// The name that the plugin works out.
pub fn derived_name(target: &Target) -> String {
    format!("https://cloud/{}", target.owner.name)
}

/// Where it lives.
fn place(parameters: &Document) -> String {
    let fixed = parameters.get("fixed").and_then(serde_json::Value::as_str);
    fixed.unwrap_or_default().to_owned()
}

fn is_ours(marker: &str, target: &Target) -> bool {
    !marker.is_empty() && (marker == target.ownership_marker || marker == target.former_marker)
}
