//! The record: what must survive the death of the bridge. It lives in one annotation, [`super::names::RECORD`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    external::{Config, Document},
    rule::Rule,
};

use super::{
    duration::within_reach,
    record_format::{RecordFormat, Unreadable, unparsed},
};

/// Parameters beyond this many bytes are recorded as a digest, and such a request is repeated only while today's desired state matches it.
pub const SNAPSHOT_LIMIT: usize = 64 * 1024;

/// All annotations of an object together may hold this many bytes (Kubernetes).
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// Room that an answer may need: handle and state of 4 KiB each, every byte escaped at worst, a name of 1 KiB, timestamps.
const RESERVED: usize = 2 * 4096 * 6 + 8 * 1024;

/// What must survive. Belongs to the object of its `uid` only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// `metadata.uid` of the object that it was written for.
    pub uid: String,
    /// The name that was sent or confirmed; empty: none yet.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub external_name: String,
    /// A create or an adoption is confirmed. Where the name was known beforehand the status confirms it instead.
    #[serde(default, skip_serializing_if = "is_default")]
    pub confirmed: bool,
    /// It existed before us. Left alone by a deletion as long as it bears no marker of ours.
    #[serde(default, skip_serializing_if = "is_default")]
    pub adopted: bool,
    /// The last create was refused because somebody has the name: not ours until a person says so.
    #[serde(default, skip_serializing_if = "is_default")]
    pub name_conflict: bool,
    /// A call whose outcome is not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// No call recorded before may execute after this plus the margin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// What the plugin last returned.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider_state: String,
    /// Keyed digest of the sensitive values that were last applied.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sensitive_digest: String,
    /// Connection details that the upstream gives once, around the create.
    #[serde(default, skip_serializing_if = "is_default")]
    pub details: Details,
    /// Where and as whom.
    pub config: ConfigIdentity,
    /// Of the plugin by which it was made, or adopted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plugin_version: String,
    /// Which of the object's external resources this is about, counted from 0: each creation that is begun is another one's, though its name
    /// may be the same.
    #[serde(default, skip_serializing_if = "is_default")]
    pub incarnation: u32,
    /// What became of approvals of a replacement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<Replacement>,
    /// By which it was written, with fields of a newer one.
    #[serde(flatten)]
    pub format: RecordFormat,
}

/// Approvals of a replacement that count no more, and the replacement that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Replacement {
    /// `metadata.generation` that was approved last.
    pub generation: i64,
    /// So many approvals of that generation are used up.
    pub approvals: u32,
    /// The last of them is being acted upon: the resource of this canonical id (empty: not known) is deleted, so that another one takes its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Fields of a newer format: kept as they are.
    #[serde(flatten)]
    pub unknown: Document,
}

/// What became of connection details that are given once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Details {
    /// There are none, or they are published.
    #[default]
    Complete,
    /// The create gives some, and they are not known to be published.
    Pending,
    /// The answer that carried them was lost, or the process that had it died.
    Lost,
}

/// A call that was about to be sent when this was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Intent {
    /// Which.
    pub verb: IntentVerb,
    /// Client request token; of a Delete it only tells intents apart.
    pub token: String,
    /// 0, then one more for each repeat.
    pub attempt: u32,
    /// Begun when no earlier attempt could still take effect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub exclusive: bool,
    /// The token's turn is over: repeating it would be refused again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub token_exhausted: bool,
    /// `metadata.generation` that the parameters were taken from.
    pub generation: i64,
    /// What was sent.
    pub parameters: RecordedParameters,
    /// When attempt 0 began.
    pub started_at: Timestamp,
    /// Nothing is sent after it.
    pub deadline: Timestamp,
    /// The operation that answered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<RecordedOperation>,
    /// That operation has failed, and left who knows what: nothing more comes of the create.
    #[serde(default, skip_serializing_if = "is_default")]
    pub operation_ended: bool,
    /// Fields of a newer format: kept as they are.
    #[serde(flatten)]
    pub unknown: Document,
}

/// Calls that need an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum IntentVerb {
    Create,
    Delete,
}

/// The parameters of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RecordedParameters {
    /// Whole.
    Whole(Document),
    /// Too long to keep: their digest.
    Digest(String),
}

impl RecordedParameters {
    /// Takes one; `digest` is computed by the caller, as the core has no hash of its own to trust with it.
    pub fn of(parameters: &Document, digest: &str) -> Self {
        let length = serde_json::to_string(parameters).map_or(usize::MAX, |text| text.len());
        if length > SNAPSHOT_LIMIT {
            Self::Digest(digest.to_owned())
        } else {
            Self::Whole(parameters.clone())
        }
    }
}

/// A handle that outlives both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedOperation {
    /// Opaque.
    pub handle: String,
    /// The attempt that it answered.
    pub attempt: u32,
    /// When it may be forgotten upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
    /// Moves only when polled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub poll_driven: bool,
    /// Fields of a newer format: kept as they are.
    #[serde(flatten)]
    pub unknown: Document,
}

/// Where and as whom, without anything that may be renewed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigIdentity {
    /// Of the ProviderConfig.
    pub id: String,
    /// Whom the upstream took us for; empty: not told.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub identity: String,
    /// Of the settings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub settings: String,
    /// Fields of a newer format: kept as they are.
    #[serde(flatten)]
    pub unknown: Document,
}

impl ConfigIdentity {
    /// That of a resolved config.
    pub fn of(config: &Config) -> Self {
        Self {
            id: config.id.clone(),
            identity: config.identity.clone(),
            settings: config.settings_digest.clone(),
            unknown: Document::new(),
        }
    }

    /// That of a resolved config, for the record that takes the place of `former`: what a newer bridge has noted stays.
    pub fn replacing(former: Option<&Record>, config: &Config) -> Self {
        let unknown = former.map(|former| former.config.unknown.clone());
        Self {
            unknown: unknown.unwrap_or_default(),
            ..Self::of(config)
        }
    }

    /// As far as one can tell, names mean the same in both: the same config, or two that act as the same identity, with the same settings. An
    /// identity that one side does not know does not part them.
    pub fn shares_names_with(&self, other: &Self) -> bool {
        let known = self.tells_identity() && self.identity == other.identity;
        let same = self.id == other.id && !self.acts_as_another(other);
        self.settings == other.settings && (known || same)
    }

    /// Both say as whom they act, and it is not the same.
    pub fn acts_as_another(&self, other: &Self) -> bool {
        self.tells_identity() && other.tells_identity() && self.identity != other.identity
    }

    /// One in which a credential was hidden without a digest, as by older bridges, is that of any account.
    fn tells_identity(&self) -> bool {
        let is_hidden = self.identity.contains("[redacted]") && !self.identity.contains("(sha256:");
        !self.identity.is_empty() && !is_hidden
    }

    /// What a look by the newer one has shown to be the same place is recorded as that. An identity that the same config does not tell any more is
    /// not forgotten.
    #[must_use]
    pub fn renewed(&self, newer: Self) -> Self {
        let untold = newer.identity.is_empty() && newer.id == self.id;
        let identity = if untold {
            self.identity.clone()
        } else {
            newer.identity
        };
        Self {
            identity,
            unknown: self.unknown.clone(),
            ..newer
        }
    }
}

/// What an object's annotation holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// Nothing, or the record of another uid (a backup's, a clone's).
    None,
    /// Ours.
    Owned(Box<Record>),
    /// Cannot be read, and why. Nothing may be made on the strength of it.
    Unreadable(Unreadable),
}

impl Stored {
    /// Reads the annotation of the object of `uid`.
    pub fn read(annotation: Option<&str>, uid: &str) -> Self {
        let Some(text) = annotation else { return Self::None };
        let parsed = serde_json::from_str::<Record>(text);
        if let Ok(record) = &parsed
            && record.uid == uid
            && let Some(why) = record.format.misunderstanding(&record.unknown_fields())
        {
            return Self::Unreadable(why);
        }
        match parsed {
            Ok(record) if record.uid == uid && !record.times().all(within_reach) => Self::Unreadable(
                Unreadable::Malformed("it tells a time thousands of years away".to_owned()),
            ),
            Ok(record) if record.uid == uid || Rule::RecordOfOwnUid.is_off() => Self::Owned(Box::new(record)),
            Ok(_) => Self::None,
            Err(error) => match serde_json::from_str::<serde_json::Value>(text) {
                Ok(value)
                    if value
                        .get("uid")
                        .and_then(serde_json::Value::as_str)
                        .is_some_and(|other| other != uid) =>
                {
                    Self::None
                }
                Ok(value) => Self::Unreadable(unparsed(&value, &error)),
                Err(_) => Self::Unreadable(Unreadable::Malformed(error.to_string())),
            },
        }
    }
}

impl Record {
    /// As the annotation's text.
    pub fn write(&self) -> String {
        let mut record = self.clone();
        record.format.raise();
        serde_json::to_string(&record).unwrap_or_default()
    }

    /// Does the annotation have room for this record and for every answer that it may have to take in? `others` is what the object's other
    /// annotations take, in bytes.
    pub fn fits(&self, others: usize) -> bool {
        self.write().len() + others + RESERVED <= ANNOTATIONS_LIMIT
    }

    /// The format of the record that takes the place of this one: what a newer bridge has noted stays.
    pub fn kept_format(former: Option<&Self>) -> RecordFormat {
        former.map(|former| former.format.clone()).unwrap_or_default()
    }

    /// Fields of a newer format, by their paths.
    fn unknown_fields(&self) -> Vec<String> {
        let mut unknown = Vec::new();
        let mut add = |path: &str, fields: &Document| {
            unknown.extend(fields.keys().map(|field| format!("{path}{field}")));
        };
        add("", self.format.unknown());
        add("config.", &self.config.unknown);
        if let Some(replacement) = &self.replacement {
            add("replacement.", &replacement.unknown);
        }
        if let Some(intent) = &self.intent {
            add("intent.", &intent.unknown);
            if let Some(operation) = &intent.operation {
                add("intent.operation.", &operation.unknown);
            }
        }
        unknown
    }

    /// Those that something is added to.
    fn times(&self) -> impl Iterator<Item = Timestamp> {
        let intent = self.intent.iter();
        intent
            .flat_map(|intent| [intent.started_at, intent.deadline])
            .chain(self.deadline)
    }

    /// The unsettled create, if there is one.
    pub fn create(&self) -> Option<&Intent> {
        self.intent
            .as_ref()
            .filter(|intent| intent.verb == IntentVerb::Create)
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
