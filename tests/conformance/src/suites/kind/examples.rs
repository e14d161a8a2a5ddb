//! What a kind reports of itself: its examples, names and rules. No call is created.

use std::collections::BTreeSet;

use crossbridge_types::{Document, Example, Kind};

use crate::{
    assertion::assertions,
    fixtures::{NamePattern, fill, new_unique},
    kind_context::KindContext,
    schema,
    suite::Suite,
    verdict::{Judgement, holds},
};

assertions! {
    VALID = "examples/valid", Core, "ResourceKind.examples",
        "The parameters of every example, the invalid ones included, pass the kind's schema.",
        "Make example and schema agree. invalid_parameters are rejected by the plugin, not by the schema.";
    PATTERN = "examples/name-pattern", Core, "ExternalNameRules.pattern",
        "The pattern of names is a regular expression of RE2.",
        "Write it without look-around and back references; it is anchored automatically.";
    NAMES = "examples/names-valid", Core, "ExternalNameRules.example",
        "Every name that the kind gives as an example keeps the kind's own rules.",
        "Correct the name, the pattern or max_length.";
    REQUIRES = "examples/requirements-exist", Core, "KindExample.requires",
        "A required example is one of this plugin's.",
        "Write Kind/name, of a kind and an example that exist.";
    SECRETS = "examples/secrets-outside-documents", Core, "KindExample.sensitive_values",
        "Sensitive values stand outside the documents, at paths that the kind marks as sensitive.",
        "Give the field a rule with sensitive set, and take it out of the documents.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| {
        run(ctx);
        Box::pin(std::future::ready(Ok(())))
    },
};

fn run(ctx: &KindContext) {
    let run_ctx = &ctx.run_ctx;
    let examples = run_ctx.fixtures.examples_of(&ctx.kind);
    run_ctx.judge(VALID, each(&examples, |example| valid(&ctx.kind, example)));
    run_ctx.judge(
        SECRETS,
        each(&examples, |example| secrets_beside(&ctx.kind, example)),
    );
    let known = names_of(ctx);
    run_ctx.judge(
        REQUIRES,
        each(&examples, |example| required_exist(&known, example)),
    );
    let pattern = NamePattern::of(&ctx.kind.external_name);
    match &pattern {
        Err(problem) => run_ctx.judge(PATTERN, Err(problem.clone())),
        Ok(pattern) => {
            run_ctx.judge(PATTERN, Ok(()));
            run_ctx.judge(NAMES, names_valid(&ctx.kind, pattern, &examples));
        }
    }
}

fn each(examples: &[Example], judge: impl Fn(&Example) -> Judgement) -> Judgement {
    examples.iter().try_for_each(|example| {
        judge(example).map_err(|problem| format!("example {:?}: {problem}", example.name))
    })
}

fn sensitive_paths(kind: &Kind) -> Vec<&str> {
    kind.field_rules
        .iter()
        .filter(|rule| rule.sensitive)
        .map(|rule| rule.path.as_str())
        .collect()
}

fn valid(kind: &Kind, example: &Example) -> Judgement {
    let schema = schema::without_required(&kind.parameters_schema, sensitive_paths(kind).into_iter());
    for (what, document) in [
        ("create_parameters", &example.create_parameters),
        ("update_parameters", &example.update_parameters),
        ("invalid_parameters", &example.invalid_parameters),
    ] {
        if let Some(document) = document {
            let document = fill(document, &new_unique());
            schema::valid(&schema, &document).map_err(|problem| format!("{what} {problem}"))?;
        }
    }
    Ok(())
}

fn secrets_beside(kind: &Kind, example: &Example) -> Judgement {
    let is_sensitive = |pointer: &str| {
        sensitive_paths(kind).iter().any(|path| {
            let (path, pointer): (Vec<_>, Vec<_>) = (path.split('/').collect(), pointer.split('/').collect());
            path.len() == pointer.len()
                && path
                    .iter()
                    .zip(&pointer)
                    .all(|(path, part)| *path == "*" || path == part)
        })
    };
    for pointer in example.sensitive_values.keys() {
        holds(is_sensitive(pointer), || {
            format!("{pointer} has a sensitive value, and no rule that calls it sensitive")
        })?;
        for document in documents(example) {
            let inlined = serde_json::Value::Object(document.clone())
                .pointer(pointer)
                .is_some();
            holds(!inlined, || format!("{pointer} stands in a document"))?;
        }
    }
    Ok(())
}

fn documents(example: &Example) -> impl Iterator<Item = &Document> {
    [
        &example.create_parameters,
        &example.update_parameters,
        &example.invalid_parameters,
    ]
    .into_iter()
    .flatten()
}

fn names_of(ctx: &KindContext) -> BTreeSet<String> {
    ctx.run_ctx
        .kinds
        .iter()
        .flat_map(|kind| {
            ctx.run_ctx
                .fixtures
                .examples_of(kind)
                .into_iter()
                .map(move |example| format!("{}/{}", kind.resource_type.kind, example.name))
        })
        .collect()
}

fn required_exist(known: &BTreeSet<String>, example: &Example) -> Judgement {
    match example.requires.iter().find(|name| !known.contains(*name)) {
        Some(missing) => Err(format!("requires {missing:?}, which is nowhere")),
        None => Ok(()),
    }
}

fn names_valid(kind: &Kind, pattern: &NamePattern, examples: &[Example]) -> Judgement {
    let names = examples.iter().map(|example| &example.external_name);
    for name in names.chain([&kind.external_name.example]) {
        holds(name.is_empty() || pattern.allows(name), || {
            format!("{name:?} breaks the kind's rules")
        })?;
    }
    Ok(())
}
