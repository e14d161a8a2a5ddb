//! Requests that break the contract themselves.

use crossbridge_proto::v1alpha1 as wire;
use tonic::{Code, Status};

use super::{MALFORMED, REQUIRED, REQUIRED_NAMED, UNKNOWN_TYPE};
use crate::{
    client::told,
    lab::{Lab, Thing},
    stories::plugin::kinds::refused_as,
    verdict::holds,
};

type Change<Q> = fn(&mut Q);

/// Sends `request` with each of the changes, and hands back what came, by field.
macro_rules! each_broken {
    ($lab:ident, $call:ident, $request:expr, $changes:expr) => {{
        let mut answers: Vec<(&'static str, Result<(), Status>)> = Vec::new();
        for (field, change) in $changes {
            let mut request = $request;
            change(&mut request);
            let answer = $lab.bench.client.$call(request, $lab.terms()).await;
            answers.push((field, answer.map(drop)));
        }
        answers
    }};
}

fn target(target: &mut Option<wire::Target>) -> &mut wire::Target {
    target.get_or_insert_default()
}

/// Each REQUIRED field left out in turn.
pub(super) async fn required_fields(lab: &Lab, thing: &Thing) {
    let known = named(lab, thing);
    let observe: [(&str, Change<wire::ObserveRequest>); 9] = [
        ("target", |request| request.target = None),
        ("desired", |request| request.desired = None),
        ("desired.parameters", |request| {
            request.desired.get_or_insert_default().parameters = None;
        }),
        ("target.resource_type", |request| {
            target(&mut request.target).resource_type = None;
        }),
        ("target.config", |request| {
            target(&mut request.target).config = None;
        }),
        ("target.config.config_id", |request| {
            target(&mut request.target)
                .config
                .get_or_insert_default()
                .config_id
                .clear();
        }),
        ("target.owner", |request| target(&mut request.target).owner = None),
        ("target.owner.uid", |request| {
            target(&mut request.target)
                .owner
                .get_or_insert_default()
                .uid
                .clear();
        }),
        ("target.ownership_marker", |request| {
            target(&mut request.target).ownership_marker.clear();
        }),
    ];
    let mut answers = each_broken!(lab, observe, known.observe(), observe);
    if lab.kind.capabilities.can_create {
        let create: [(&str, Change<wire::CreateRequest>); 3] = [
            ("target", |request| request.target = None),
            ("desired", |request| request.desired = None),
            ("client_request_token", |request| {
                request.client_request_token.clear();
            }),
        ];
        answers.extend(each_broken!(lab, create, thing.create(false), create));
    }
    if lab.kind.capabilities.can_update {
        let update: [(&str, Change<wire::UpdateRequest>); 2] = [
            ("target.external_name", |request| {
                target(&mut request.target).external_name.clear();
            }),
            ("desired", |request| request.desired = None),
        ];
        answers.extend(each_broken!(lab, update, known.update(), update));
    }
    if lab.kind.capabilities.can_delete {
        let delete: [(&str, Change<wire::DeleteRequest>); 2] = [
            ("target", |request| request.target = None),
            ("target.external_name", |request| {
                target(&mut request.target).external_name.clear();
            }),
        ];
        answers.extend(each_broken!(lab, delete, known.delete(), delete));
    }
    for (field, answer) in answers {
        let named = match &answer {
            Err(status) if status.code() == Code::InvalidArgument => {
                holds(status.message().contains(field), || {
                    format!("without {field}: {}", told(status))
                })
            }
            // That one is judged as not checked.
            _ => Ok(()),
        };
        let refused = refused_as(Code::InvalidArgument, answer)
            .map_err(|problem| format!("without {field}: {problem}"));
        lab.bench.judge(REQUIRED, refused);
        lab.bench.judge(REQUIRED_NAMED, named);
    }
}

/// Fields that are set and out of form.
pub(super) async fn malformed(lab: &Lab, thing: &Thing) {
    let known = named(lab, thing);
    let observe: [(&str, Change<wire::ObserveRequest>); 4] = [
        ("a marker of other letters", |request| {
            "Not A Marker!".clone_into(&mut target(&mut request.target).ownership_marker);
        }),
        ("a wish that is no JSON", |request| {
            let wish = request.desired.get_or_insert_default();
            wish.parameters = Some(wire::Document { json: "{".to_owned() });
        }),
        ("a wish that is no object", |request| {
            let wish = request.desired.get_or_insert_default();
            wish.parameters = Some(wire::Document {
                json: "[]".to_owned(),
            });
        }),
        ("a state of 5,000 bytes", |request| {
            target(&mut request.target).provider_state = "x".repeat(5000);
        }),
    ];
    let mut answers = each_broken!(lab, observe, known.observe(), observe);
    if lab.kind.capabilities.can_create {
        let create: [(&str, Change<wire::CreateRequest>); 1] = [("a token that is no UUID", |request| {
            "no-uuid".clone_into(&mut request.client_request_token);
        })];
        answers.extend(each_broken!(lab, create, thing.create(false), create));
    }
    for (what, answer) in answers {
        let refused =
            refused_as(Code::InvalidArgument, answer).map_err(|problem| format!("{what}: {problem}"));
        lab.bench.judge(MALFORMED, refused);
    }
}

/// A type that nobody serves.
pub(super) async fn unknown_type(lab: &Lab, thing: &Thing) {
    let mut known = named(lab, thing);
    known.target.resource_type = Some(wire::ResourceType {
        group: "conformance.example.org".to_owned(),
        version: "v1".to_owned(),
        kind: "NobodyServesThis".to_owned(),
    });
    known.given_name.clone_from(&known.target.external_name);
    let (client, terms) = (&lab.bench.client, lab.terms());
    let answers = [
        ("Observe", client.observe(known.observe(), terms).await.map(drop)),
        (
            "Create",
            client.create(known.create(false), terms).await.map(drop),
        ),
        ("Update", client.update(known.update(), terms).await.map(drop)),
        ("Delete", client.delete(known.delete(), terms).await.map(drop)),
        (
            "PollOperation",
            client.poll_operation(known.poll("handle"), terms).await.map(drop),
        ),
    ];
    for (method, answer) in answers {
        let refused = refused_as(Code::NotFound, answer).map_err(|problem| format!("{method}: {problem}"));
        lab.bench.judge(UNKNOWN_TYPE, refused);
    }
}

/// With a name in any case, which nobody has.
fn named(lab: &Lab, thing: &Thing) -> Thing {
    let mut known = thing.clone();
    if known.name().is_empty() {
        let name = lab
            .fresh_name("")
            .unwrap_or_else(|_| lab.kind.external_name.example.clone());
        known.target.external_name = name;
    }
    known
}
