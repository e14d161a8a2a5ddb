//! Cases in `render-golden`: what `render` prints and `internal render` answers, worked out by hand from what Crossplane does.

use std::{fs, path::Path};

use fake_function::{FakeFunction, Version};
use function_proto::{
    Struct,
    render::{
        CompositeInput, CompositeOutput, FunctionInput, RenderRequest, RenderResponse, render_request::Input,
        render_response::Output,
    },
};
use prost::Message;
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;

use crate::program::{run, run_with_input};

/// One file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Case {
    xr: Value,
    composition: Value,
    #[serde(default)]
    definition: Option<Value>,
    #[serde(default)]
    observed: Vec<Value>,
    #[serde(default)]
    required: Vec<Value>,
    #[serde(default)]
    credentials: Vec<Value>,
    #[serde(default)]
    schemas: Vec<Value>,
    expected: Expected,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expected {
    /// Of both commands, unless `internal render` has one of its own.
    #[serde(default)]
    composite: Value,
    /// With `-x`.
    #[serde(default)]
    full: Value,
    #[serde(default)]
    composed: Vec<Value>,
    /// With `-r`, each as `Type Reason: message`.
    #[serde(default)]
    events: Vec<String>,
    /// With `-c`.
    #[serde(default)]
    context: Value,
    /// Part of standard error; there is no standard output then.
    #[serde(default)]
    render_fails: Option<String>,
    /// The same, beside the documents of all that can be composed, as without an error.
    #[serde(default)]
    rejected: Option<String>,
    #[serde(default)]
    internal: Internal,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Internal {
    #[serde(default)]
    code: i32,
    /// With the times that `render` does not show.
    #[serde(default)]
    composite: Value,
    /// Part of standard error.
    #[serde(default)]
    stderr: String,
    #[serde(default)]
    deleted: Vec<Value>,
    #[serde(default)]
    required_resources: Vec<Value>,
    #[serde(default)]
    required_schemas: Vec<Value>,
}

/// A function on a port, until it is dropped.
struct Function {
    address: String,
    served: JoinHandle<()>,
}

impl Function {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let routes = FakeFunction::default().routes(Version::V1);
        let served = tokio::spawn(async move {
            let server = Server::builder().add_routes(routes);
            server
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        });
        Self { address, served }
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.served.abort();
    }
}

impl Case {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bridge/render-golden");
        let text = fs::read_to_string(folder.join(format!("{name}.yaml"))).unwrap();
        serde_yaml_ng::from_str(&text).unwrap()
    }

    /// Names of the functions of all steps.
    fn functions(&self) -> Vec<String> {
        let steps = self.composition["spec"]["pipeline"].as_array().unwrap();
        let mut names: Vec<String> = steps
            .iter()
            .map(|step| step["functionRef"]["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The documents; standard error has all that is expected there.
    async fn render(&self, address: &str, more: &[&str]) -> Vec<Value> {
        let folder = TempDir::new().unwrap();
        let mut arguments = vec!["render".to_owned()];
        let file = |name: &str, objects: &[Value]| {
            let documents: Vec<String> = objects.iter().map(ToString::to_string).collect();
            let path = folder.path().join(name);
            fs::write(&path, documents.join("\n---\n")).unwrap();
            path.to_str().unwrap().to_owned()
        };
        arguments.push(file("xr.yaml", std::slice::from_ref(&self.xr)));
        arguments.push(file("composition.yaml", std::slice::from_ref(&self.composition)));
        let definition = self.definition.as_slice();
        for (flag, objects) in [
            ("--xrd", definition),
            ("-o", &self.observed),
            ("-e", &self.required),
            ("--function-credentials", &self.credentials),
        ] {
            if !objects.is_empty() {
                let name = format!("{}.yaml", flag.trim_matches('-'));
                arguments.extend([flag.to_owned(), file(&name, objects)]);
            }
        }
        if !self.schemas.is_empty() {
            for (number, document) in self.schemas.iter().enumerate() {
                file(&format!("{number}.json"), std::slice::from_ref(document));
            }
            arguments.extend(["-s".to_owned(), folder.path().to_str().unwrap().to_owned()]);
        }
        for name in self.functions() {
            arguments.extend(["--function".to_owned(), format!("{name}=http://{address}")]);
        }
        let arguments: Vec<&str> = arguments
            .iter()
            .map(String::as_str)
            .chain(more.iter().copied())
            .collect();
        let ran = run(&arguments).await;
        let why = self.expected.render_fails.as_ref();
        let why = why.or(self.expected.rejected.as_ref());
        assert_eq!(ran.code, Some(i32::from(why.is_some())), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(why.map_or("", String::as_str)),
            "{}",
            ran.stderr
        );
        if self.expected.render_fails.is_some() {
            assert_eq!(ran.stdout, "");
            return Vec::new();
        }
        let documents = serde_yaml_ng::Deserializer::from_str(&ran.stdout);
        documents.map(|one| Value::deserialize(one).unwrap()).collect()
    }

    /// An expectation that nothing is compared with is a mistake.
    fn check_expectations(&self, name: &str) {
        let expected = &self.expected;
        let is_printed = expected.render_fails.is_none();
        assert!(is_printed || expected.rejected.is_none(), "{name}: one of both");
        let internal = &expected.internal;
        let is_answered = internal.code != 1;
        assert_eq!(
            !expected.composite.is_null(),
            is_printed || is_answered && internal.composite.is_null(),
            "{name}: composite"
        );
        for (what, is_given, is_used) in [
            ("full", !expected.full.is_null(), is_printed),
            ("context", !expected.context.is_null(), is_printed),
            (
                "composed",
                !expected.composed.is_empty(),
                is_printed || is_answered,
            ),
            ("events", !expected.events.is_empty(), is_printed || is_answered),
            ("internal.composite", !internal.composite.is_null(), is_answered),
            ("internal.deleted", !internal.deleted.is_empty(), is_answered),
            (
                "internal.requiredResources",
                !internal.required_resources.is_empty(),
                is_answered,
            ),
            (
                "internal.requiredSchemas",
                !internal.required_schemas.is_empty(),
                is_answered,
            ),
        ] {
            assert!(is_used || !is_given, "{name}: {what} is compared with nothing");
        }
    }

    fn request(&self, address: &str) -> Vec<u8> {
        let of = |object: &Value| Struct::from_json(object).unwrap();
        let all = |objects: &[Value]| objects.iter().map(of).collect();
        let function = |name: String| FunctionInput {
            name,
            address: address.to_owned(),
        };
        let input = CompositeInput {
            composite_resource: Some(of(&self.xr)),
            composition: Some(of(&self.composition)),
            functions: self.functions().into_iter().map(function).collect(),
            observed_resources: all(&self.observed),
            required_resources: all(&self.required),
            credentials: all(&self.credentials),
            required_schemas: all(&self.schemas),
            composite_resource_definition: self.definition.as_ref().map(of),
        };
        let request = RenderRequest {
            meta: None,
            input: Some(Input::Composite(input)),
        };
        request.encode_to_vec()
    }
}

/// What `internal render` answered, if anything.
fn output(encoded: &[u8]) -> Option<CompositeOutput> {
    match RenderResponse::decode(encoded).unwrap().output? {
        Output::Composite(output) => Some(output),
        other => panic!("{other:?}"),
    }
}

fn json_of(object: &Struct) -> Value {
    Value::Object(object.to_map().unwrap())
}

fn result(event: &str) -> Value {
    let (kind, rest) = event.split_once(' ').unwrap();
    let (reason, message) = rest.split_once(": ").unwrap();
    json!({
        "apiVersion": "render.crossplane.io/v1beta1",
        "kind": "Result",
        "severity": kind,
        "reason": reason,
        "message": message,
    })
}

async fn check(name: &str) {
    let (case, function) = (Case::read(name), Function::start().await);
    case.check_expectations(name);
    let expected = &case.expected;
    let plain = case.render(&function.address, &[]).await;
    if expected.render_fails.is_none() {
        let documents = |composite: &Value| [std::slice::from_ref(composite), &expected.composed].concat();
        assert_eq!(plain, documents(&expected.composite), "{name}");
        let mut all = documents(if expected.full.is_null() {
            &expected.composite
        } else {
            &expected.full
        });
        all.extend(expected.events.iter().map(|event| result(event)));
        if !expected.context.is_null() {
            let api_version = "render.crossplane.io/v1beta1";
            all.push(json!({ "apiVersion": api_version, "kind": "Context", "fields": expected.context }));
        }
        let rendered = case.render(&function.address, &["-x", "-r", "-c"]).await;
        assert_eq!(rendered, all, "{name} -x -r -c");
    }

    let internal = &expected.internal;
    let request = case.request(&function.address);
    let (code, stdout, stderr) = run_with_input(&["internal", "render"], &request).await;
    assert_eq!(code, Some(internal.code), "{name}: {stderr}");
    assert!(stderr.contains(&internal.stderr), "{name}: {stderr}");
    if code == Some(1) {
        assert!(stdout.is_empty(), "{name}");
        return;
    }
    let output = output(&stdout).unwrap();
    let all = |objects: &[Struct]| objects.iter().map(json_of).collect::<Vec<Value>>();
    let composite = if internal.composite.is_null() {
        &expected.composite
    } else {
        &internal.composite
    };
    assert_eq!(json_of(&output.composite_resource.unwrap()), *composite, "{name}");
    assert_eq!(all(&output.composed_resources), expected.composed, "{name}");
    assert_eq!(all(&output.deleted_resources), internal.deleted, "{name}");
    let events = output.events.iter();
    let events: Vec<String> = events
        .map(|one| format!("{} {}: {}", one.r#type, one.reason, one.message))
        .collect();
    assert_eq!(events, expected.events, "{name}");
    assert_eq!(
        all(&output.required_resources),
        internal.required_resources,
        "{name}"
    );
    assert_eq!(all(&output.required_schemas), internal.required_schemas, "{name}");
}

macro_rules! cases {
    ($($name:ident: $file:literal,)*) => {
        const FILES: &[&str] = &[$($file),*];
        $(
            #[tokio::test]
            async fn $name() {
                check($file).await;
            }
        )*
    };
}

cases! {
    a_namespaced_composite_resource_composes_in_its_namespace: "namespaced",
    a_cluster_scoped_composite_resource_refers_with_namespaces: "cluster-scoped",
    a_legacy_composite_resource_passes_on_its_claim: "legacy",
    observed_resources_keep_their_names_or_are_deleted: "observed",
    a_fatal_result_leaves_what_is_known: "fatal",
    conditions_and_results_of_functions_are_shown_in_order: "conditions",
    required_objects_and_schemas_are_looked_up: "requirements",
    an_observed_resource_of_another_controller_is_rejected: "foreign-observed",
    a_desired_resource_of_another_controller_is_rejected: "foreign-desired",
    namesakes_are_rejected: "namesakes",
    a_paused_composite_resource_is_whole: "paused",
    names_are_derived_from_uid_and_resource_name: "names",
    credentials_are_shown_to_their_step: "credentials",
    a_composite_resource_that_is_deleted_takes_along_what_it_composed: "deleted",
}

#[test]
fn every_case_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bridge/render-golden");
    let mut files: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            entry
                .unwrap()
                .path()
                .file_stem()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    files.sort();
    let mut run = FILES.to_vec();
    run.sort_unstable();
    assert_eq!(files, run);
}
