//! Why nothing, or not all, was rendered.

use std::{io, path::PathBuf, time::Duration};

use bridge_control_plane::process::SpawnError;
use bridge_core::{composite::RunFailure, function::InvalidEndpoint};

use crate::manifests::ManifestError;

/// Why nothing, or not all, was rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// An input cannot be read.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// A file holds something else than it is to hold.
    #[error("{}: {why}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A field of an object is something else than an object.
    #[error("{object}: {field} must be an object, and is {found}")]
    NoObject {
        /// What was given, such as `observed_resources[0]`.
        object: String,
        /// Such as `metadata.labels`.
        field: String,
        /// What it is.
        found: &'static str,
    },
    /// A value of the context is no YAML.
    #[error("the value of {key:?} in the context is not YAML: {cause}")]
    Context {
        /// Its key.
        key: String,
        /// The parser's error.
        cause: serde_yaml_ng::Error,
    },
    /// The composition is for other composite resources.
    #[error("the Composition is for {wanted}, and the composite resource is a {found}")]
    OtherType {
        /// Version and kind that the composition names.
        wanted: String,
        /// Those of the composite resource.
        found: String,
    },
    /// The definition is of other composite resources.
    #[error(
        "CompositeResourceDefinition {name:?} defines {defined}, and the composite resource is a {found}"
    )]
    OtherDefinition {
        /// Its name.
        name: String,
        /// Kind and group that it defines.
        defined: String,
        /// Those of the composite resource.
        found: String,
    },
    /// The definition cannot be used.
    #[error("cannot use CompositeResourceDefinition {name:?}: {why}")]
    Definition {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A step calls a function that the request does not list.
    #[error(
        "cannot compose resources: cannot run Composition pipeline step {step:?}: unknown function {function:?} - is it listed in the render input?"
    )]
    UnknownFunction {
        /// The step.
        step: String,
        /// The function.
        function: String,
    },
    /// The steps of the composition cannot be used.
    #[error("cannot use the Composition: {0}")]
    Composition(String),
    /// An observed resource is another owner's.
    #[error("invalid observed resources: {0}")]
    Observed(String),
    /// A `Function` does not say where it can be called.
    #[error(
        "Function {name:?} says only that it runs in a container: start it, and give --function {name}=ENDPOINT, or --function-command {name}='COMMAND'"
    )]
    NotReachable {
        /// Its name.
        name: String,
    },
    /// What says where it listens is no endpoint.
    #[error("Function {name:?}: {cause}")]
    Endpoint {
        /// Its name.
        name: String,
        /// Why it is none.
        cause: InvalidEndpoint,
    },
    /// A function's command cannot be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A function's command has ended, or does not listen.
    #[error("the command of function {name:?} {what}; what it printed is above")]
    Command {
        /// The function.
        name: String,
        /// What it did.
        what: String,
    },
    /// It took too long.
    #[error("not rendered within {} s: {during}; if it only needs longer, give a longer --timeout", after.as_secs_f32())]
    Timeout {
        /// How long it was allowed to take.
        after: Duration,
        /// What was under way, and where to look.
        during: String,
    },
    /// The run of the pipeline failed.
    #[error("cannot compose resources: {0}")]
    Run(RunFailure),
    /// It did not come to an end: a defect.
    #[error("the composite resource did not settle; this is a bug. It went on with: {0}")]
    Unsettled(String),
    /// The others were printed.
    #[error("not composed: {}", .0.join("; "))]
    NotComposed(Vec<String>),
    /// The system rejected something.
    #[error("cannot create a folder for sockets: {0}")]
    Folder(io::Error),
    /// Standard output is closed, or full.
    #[error("cannot write what was rendered: {0}")]
    Output(#[from] io::Error),
    /// A document is no YAML.
    #[error("cannot write as YAML: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
}
