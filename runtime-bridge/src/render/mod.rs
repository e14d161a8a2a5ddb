//! `runtime-bridge render`: what a composition makes of a composite resource, without a cluster.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod cluster;
mod compose;
mod composite;
mod course;
mod defaults;
mod error;
mod files;
mod functions;
mod inputs;
pub mod internal;
mod output;

use std::{path::PathBuf, time::Duration};

use clap::Args;

pub use self::error::RenderError;
use self::{compose::compose, functions::RunningFunctions, inputs::Inputs, output::documents};
use crate::{
    compositions::NamedEndpoint, dev::FunctionCommand, duration, manifests::yaml_document, output::print,
};

/// What is rendered, and with which functions.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// File with the composite resource.
    #[arg(value_name = "XR")]
    pub composite: PathBuf,
    /// File with the Composition.
    #[arg(value_name = "COMPOSITION")]
    pub composition: PathBuf,
    /// File or folder with Functions. One that runs in development, by its annotation render.crossplane.io/runtime, listens at
    /// render.crossplane.io/runtime-development-target, else at localhost:9443, without TLS; crossbridge.dev/endpoint says where any listens.
    #[arg(value_name = "FUNCTIONS")]
    pub functions: Option<PathBuf>,
    /// Where a function listens: NAME=unix:///path, NAME=http://127.0.0.1:port, or NAME=host:port over TLS. It beats what its Function says. Can be given more than once.
    #[arg(long, value_name = "NAME=ENDPOINT", value_delimiter = ',', value_parser = NamedEndpoint::parse)]
    pub function: Vec<NamedEndpoint>,
    /// Folder of the files tls.crt, tls.key and ca.crt, for functions that are reached over TLS.
    #[arg(long, value_name = "DIR")]
    pub function_tls_dir: Option<PathBuf>,
    /// Command that runs a function for as long as it takes, as `runtime-bridge dev` has it. Can be given more than once.
    #[arg(
        long,
        value_name = "NAME='COMMAND'",
        value_parser = FunctionCommand::parse
    )]
    pub function_command: Vec<FunctionCommand>,
    /// File or folder with composed resources as they are: each with the annotation crossplane.io/composition-resource-name.
    #[arg(long, short, value_name = "PATH")]
    pub observed_resources: Vec<PathBuf>,
    /// File or folder with objects that functions may require.
    #[arg(long, short = 'e', visible_alias = "extra-resources", value_name = "PATH")]
    pub required_resources: Vec<PathBuf>,
    /// Folder with documents of OpenAPI v3, each a *.json file as `kubectl get --raw /openapi/v3/…` prints it, whose schemas functions may require.
    #[arg(long, short = 's', value_name = "DIR")]
    pub required_schemas: Option<PathBuf>,
    /// File or folder with Secrets that the composition gives to functions as credentials.
    #[arg(long, value_name = "PATH")]
    pub function_credentials: Vec<PathBuf>,
    /// File with the CompositeResourceDefinition: its defaults are set. Without it, the composite resource is not a legacy one.
    #[arg(long, value_name = "FILE")]
    pub xrd: Option<PathBuf>,
    /// Value of the context that the first function finds, as YAML: KEY=VALUE. Can be given more than once.
    #[arg(long, value_name = "KEY=VALUE", value_parser = files::pair)]
    pub context_values: Vec<(String, String)>,
    /// The same, from files: KEY=FILE. Can be given more than once.
    #[arg(long, value_name = "KEY=FILE", value_parser = files::pair)]
    pub context_files: Vec<(String, String)>,
    /// Print results of functions and events, too.
    #[arg(long, short = 'r')]
    pub include_function_results: bool,
    /// Print the composite resource with all that was given, not only what is written to it.
    #[arg(long, short = 'x')]
    pub include_full_xr: bool,
    /// Print the context that the last function left, too.
    #[arg(long, short = 'c')]
    pub include_context: bool,
    /// For how long all functions together may take, their start included.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "1m",
        value_parser = duration::parse_positive
    )]
    pub timeout: Duration,
}

impl RenderArgs {
    /// Each function runs in one place.
    pub fn check(&self) -> Result<(), String> {
        let flags = self.function.iter().map(|one| &one.name);
        let mut names: Vec<&String> = flags
            .chain(self.function_command.iter().map(|one| &one.name))
            .collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some([name, ..]) => Err(format!(
                "--function and --function-command say twice where {name:?} runs"
            )),
            _ => Ok(()),
        }
    }
}

/// Prints the composite resource, what it composes, and what else is wanted.
pub async fn run(args: RenderArgs) -> Result<(), RenderError> {
    let inputs = Inputs::new(files::given(&args)?)?;
    let functions = RunningFunctions::start(&args, &inputs.pipeline, &files::functions(&args)?).await?;
    let rendered = compose(&inputs, &functions).await;
    functions.stop().await;
    let rendered = rendered?;
    if let Some(failure) = rendered.failure() {
        return Err(RenderError::Run(failure.clone()));
    }
    let mut text = String::new();
    for document in documents(&inputs, &rendered, &args) {
        text.push_str(&yaml_document(document)?);
    }
    print(&text)?;
    if rendered.problems.is_empty() {
        Ok(())
    } else {
        Err(RenderError::NotComposed(rendered.problems))
    }
}
