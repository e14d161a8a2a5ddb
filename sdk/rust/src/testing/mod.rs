//! Unit tests of a plugin, in process: the feature `testing`.
//!
//! A [`Harness`] holds the plugin, and a [`TestResource`] is one managed resource as a bridge would keep it: its desired state, its token,
//! and what the plugin's answers reported. Calls go the way that they go in a served plugin, save for the socket: whatever would be
//! rejected on the wire is rejected here, and an answer that would not leave the plugin does not leave it here.
//!
//! [`Harness::restart`] creates the plugin anew, as after `kill -9`, and [`Harness::replica`] is another one beside it: what they know is
//! what the contract's fields carry. [`cut_at_wait`]
//! and [`cut_once`] drop a call inside, [`TestResource::recover`] then asks again as the bridge would, and [`Harness::killed_in_create`] does all of it
//! at every point where a creation waits.
//!
//! ```
//! use std::{collections::BTreeMap, sync::{Arc, Mutex}};
//!
//! use crossbridge_sdk::{prelude::*, testing::Harness};
//! # use schemars::JsonSchema;
//! # use serde::{Deserialize, Serialize};
//!
//! /// What is in the cloud, by name.
//! type Cloud = Arc<Mutex<BTreeMap<String, String>>>;
//!
//! struct Note(Cloud);
//! # #[derive(Serialize, Deserialize, JsonSchema)]
//! # struct Text { text: String }
//! # #[derive(Serialize, Deserialize, JsonSchema)]
//! # struct Nothing {}
//! # #[async_trait]
//! # impl Resource for Note {
//! #     type Parameters = Text;
//! #     type Status = Nothing;
//! #     fn kind() -> Kind {
//! #         let example = Example::new("milk", &json!({"text": "Buy milk."})).external_name("milk");
//! #         let kind = Kind::new("notes.example.org", "v1", "Note", ExternalName::by_user("milk"));
//! #         kind.recover_by_name().example(example)
//! #     }
//! #     async fn observe(&self, call: &Call, _: &Known<Text>) -> Result<Observed<Self>, Failure> {
//! #         let name = &call.target.external_name;
//! #         Ok(match self.0.lock().unwrap().get(name) {
//! #             Some(text) => Observation::new(name, Text { text: text.clone() }).ready().into(),
//! #             None => Observed::absent(),
//! #         })
//! #     }
//! #     async fn create(&self, call: &Call, create: &Create<Text>) -> Result<Outcome<Self>, Failure> {
//! #         tokio::task::yield_now().await;
//! #         let name = &call.target.external_name;
//! #         if self.0.lock().unwrap().contains_key(name) {
//! #             return Err(Failure::already_exists(name, "another note has this name"));
//! #         }
//! #         self.0.lock().unwrap().insert(name.clone(), create.desired.parameters.text.clone());
//! #         tokio::task::yield_now().await;
//! #         Ok(Outcome::completed())
//! #     }
//! #     async fn update(&self, call: &Call, update: &Update<Text>) -> Result<Outcome<Self>, Failure> {
//! #         match self.0.lock().unwrap().get_mut(&call.target.external_name) {
//! #             Some(text) => text.clone_from(&update.desired.parameters.text),
//! #             None => return Err(Failure::not_found("there is no such note")),
//! #         }
//! #         Ok(Outcome::completed())
//! #     }
//! #     async fn delete(&self, call: &Call, _: &Delete<Text>) -> Result<Outcome<Self>, Failure> {
//! #         let removed = self.0.lock().unwrap().remove(&call.target.external_name);
//! #         Ok(if removed.is_some() { Outcome::completed() } else { Outcome::already_done() })
//! #     }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let cloud = Cloud::default();
//! let upstream = cloud.clone();
//! let harness = Harness::new(move || Plugin::new("notes.example.org", "1.0.0").resource(Note(upstream.clone())));
//!
//! let mut note = harness.resource::<Note>(&json!({"text": "Buy milk."})).named("milk");
//! note.observe().await.absent();
//! note.create().await.completed();
//! note.set_parameters(&Text { text: "Buy tea.".to_owned() });
//! note.update().await.completed();
//! assert_eq!(note.observe().await.found().parameters.text, "Buy tea.");
//! note.delete().await.completed();
//!
//! // Killed at each await of Create, started again, asked again: one note.
//! harness.killed_in_create(
//!     |number| harness.resource::<Note>(&json!({"text": "Buy bread."})).named(&format!("bread-{number}")),
//!     |note| usize::from(cloud.lock().unwrap().contains_key(note.external_name())),
//! )
//! .await;
//! # }
//! ```
//!
//! The conformance kit judges the same on the plugin as a process, and far more; this is for what a unit test sees better: a fake
//! upstream, and the exact point of a crash.

mod answer;
mod cut;
mod harness;
mod killed;
mod test_resource;

pub use answer::{Answer, Found, ObserveAnswer};
pub use crossbridge_types::{
    Completed, ConfigVerdict, Failure, FieldViolation, Observation, ObserveResult, Operation, Outcome,
    OutcomeResult, Secrets,
};
pub use cut::{Cut, cut_at_wait, cut_once};
pub use harness::Harness;
pub use test_resource::TestResource;
pub use tonic::{Code, Status};
