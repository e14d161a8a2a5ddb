//! Requests that break the contract themselves.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::OutcomeResult;
use tonic::{Code, Status};

use super::{IMPOSSIBLE, MALFORMED, REQUIRED, REQUIRED_NAMED, UNKNOWN_TYPE};
use crate::{
    client::told,
    lab::{Lab, Thing, outcome_of},
    required::without_each,
    stories::plugin::kinds::refused_as,
    verdict::{Stop, holds},
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

/// All of them; what a plugin takes and makes all the same is removed.
pub(super) async fn run(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    lab.bench.registry.enter(thing);
    required_fields(lab, thing).await?;
    malformed(lab, thing).await;
    unknown_type(lab, thing).await?;
    impossible(lab, thing).await;
    let mut left = thing.clone();
    left.refused = true;
    lab.remove(&left).await
}

/// Sends the request without each REQUIRED field in turn, and hands back what came, by field.
macro_rules! each_incomplete {
    ($lab:ident, $call:ident, $request:expr, $message:literal) => {{
        let mut answers: Vec<(String, Result<(), Status>)> = Vec::new();
        for (field, request) in without_each(&$request, $message).map_err(Stop::Blocked)? {
            let answer = $lab.bench.client.$call(request, $lab.terms()).await;
            answers.push((field, answer.map(drop)));
        }
        answers
    }};
}

/// Each REQUIRED field left out in turn.
async fn required_fields(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let known = named(lab, thing);
    let can = &lab.kind.capabilities;
    let mut answers = each_incomplete!(lab, observe, known.observe(), "ObserveRequest");
    if can.can_create {
        answers.extend(each_incomplete!(
            lab,
            create,
            thing.create(false),
            "CreateRequest"
        ));
    }
    // Of those two the name is REQUIRED as well.
    let nameless = |answer: Result<(), Status>| ("target.external_name".to_owned(), answer);
    let unnamed = known.clone().named("");
    if can.can_update {
        answers.extend(each_incomplete!(lab, update, known.update(), "UpdateRequest"));
        let answer = lab.bench.client.update(unnamed.update(), lab.terms()).await;
        answers.push(nameless(answer.map(drop)));
    }
    if can.can_delete {
        answers.extend(each_incomplete!(lab, delete, known.delete(), "DeleteRequest"));
        let answer = lab.bench.client.delete(unnamed.delete(), lab.terms()).await;
        answers.push(nameless(answer.map(drop)));
    }
    let config = wire::CheckConfigRequest {
        config: known.target.config.clone(),
    };
    let mut checks = each_incomplete!(lab, check_config, config, "CheckConfigRequest");
    // Without any config it has an assertion of its own.
    checks.retain(|(field, _)| field != "config");
    answers.extend(checks);
    if let Some(list) = list(lab).await? {
        answers.extend(each_incomplete!(lab, list_external, list, "ListExternalRequest"));
    }
    judge_incomplete(lab, answers);
    Ok(())
}

/// A good request, where the plugin lists this kind.
async fn list(lab: &Lab) -> Result<Option<wire::ListExternalRequest>, Stop> {
    let list = wire::ListExternalRequest {
        resource_type: Some(lab.kind.resource_type.clone().into()),
        config: Some(lab.bench.config()),
        ..Default::default()
    };
    if !lab.bench.info()?.lists_external {
        return Ok(None);
    }
    let answer = lab.bench.client.list_external(list.clone(), lab.terms()).await;
    Ok(answer.is_ok().then_some(list))
}

/// Polls of an operation, which are good but for what is missing. Removes the thing.
pub(super) async fn polls(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    if lab.kind.capabilities.can_delete {
        let begun = lab.bench.client.delete(thing.delete(), lab.terms()).await;
        if let OutcomeResult::Operation(operation) = outcome_of("Delete", begun)?.result {
            let poll = thing.poll(&operation.handle);
            let answers = each_incomplete!(lab, poll_operation, poll, "PollOperationRequest");
            judge_incomplete(lab, answers);
        }
    }
    lab.remove(thing).await
}

fn judge_incomplete(lab: &Lab, answers: Vec<(String, Result<(), Status>)>) {
    for (field, answer) in answers {
        let named = match &answer {
            Err(status) if status.code() == Code::InvalidArgument => {
                holds(status.message().contains(&field), || {
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
async fn malformed(lab: &Lab, thing: &Thing) {
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
async fn unknown_type(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let mut known = named(lab, thing);
    known.target.resource_type = Some(wire::ResourceType {
        group: "conformance.example.org".to_owned(),
        version: "v1".to_owned(),
        kind: "NobodyServesThis".to_owned(),
    });
    known.given_name.clone_from(&known.target.external_name);
    let (client, terms) = (&lab.bench.client, lab.terms());
    let mut answers = vec![
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
    if lab.bench.info()?.lists_external {
        let list = wire::ListExternalRequest {
            resource_type: known.target.resource_type.clone(),
            config: known.target.config.clone(),
            ..Default::default()
        };
        let answer = client.list_external(list, terms).await;
        answers.push(("ListExternal", answer.map(drop)));
    }
    for (method, answer) in answers {
        let refused = refused_as(Code::NotFound, answer).map_err(|problem| format!("{method}: {problem}"));
        lab.bench.judge(UNKNOWN_TYPE, refused);
    }
    Ok(())
}

/// What the kind says that it cannot do.
async fn impossible(lab: &Lab, thing: &Thing) {
    let known = named(lab, thing);
    let can = &lab.kind.capabilities;
    let (client, terms) = (&lab.bench.client, lab.terms());
    let mut answers = Vec::new();
    if !can.can_create {
        let answer = client.create(thing.create(false), terms).await;
        answers.push(("Create", answer.map(drop)));
    }
    if !can.can_update {
        let answer = client.update(known.update(), terms).await;
        answers.push(("Update", answer.map(drop)));
    }
    if !can.can_delete {
        let answer = client.delete(known.delete(), terms).await;
        answers.push(("Delete", answer.map(drop)));
    }
    if answers.is_empty() {
        lab.bench
            .not_applicable(IMPOSSIBLE, "the kind can be created, updated and deleted");
    }
    for (method, answer) in answers {
        let refused =
            refused_as(Code::Unimplemented, answer).map_err(|problem| format!("{method}: {problem}"));
        lab.bench.judge(IMPOSSIBLE, refused);
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
