//! `runtime-bridge rbac`: the ClusterRoles of a bridge that serves compositions, as YAML.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod roles;

use std::{io, path::PathBuf};

use clap::Args;

use self::roles::{ComposedKind, DefinedKinds};
use crate::{
    manifests::{self, ManifestError, yaml_document},
    output::print,
};

/// What the bridge may do, and to what.
#[derive(Debug, Args)]
pub struct RbacArgs {
    /// Print the ClusterRoles of compositions.
    #[arg(long)]
    pub compositions: bool,
    /// Manifest file, or folder of them, with CompositeResourceDefinitions that are to be served: roles for their kinds are printed, for the
    /// bridge and for people. Other objects are left aside. Can be given more than once.
    #[arg(long, value_name = "PATH")]
    pub definition: Vec<PathBuf>,
    /// Resources that compositions compose or functions require: PLURAL, or PLURAL.GROUP, as in configmaps, deployments.apps,
    /// *.s3.aws.crossbridge.dev. Can be given more than once; in the environment variable they are separated by commas.
    #[arg(
        long,
        value_name = "RESOURCE",
        value_delimiter = ',',
        value_parser = ComposedKind::parse
    )]
    pub composes: Vec<ComposedKind>,
}

impl RbacArgs {
    /// Something is printed.
    pub fn check(&self) -> Result<(), String> {
        if self.compositions {
            Ok(())
        } else {
            Err("nothing to print: give --compositions".to_owned())
        }
    }
}

/// Why not all roles were printed.
#[derive(Debug, thiserror::Error)]
pub enum RbacError {
    /// The definitions cannot be read.
    #[error(transparent)]
    Manifests(#[from] ManifestError),
    /// A definition is no definition.
    #[error("{origin}: the CompositeResourceDefinition has no {field}")]
    Definition {
        /// The file, and which of its documents.
        origin: String,
        /// What is missing.
        field: &'static str,
    },
    /// There is none.
    #[error("{} has no CompositeResourceDefinition", .0.display())]
    NoDefinition(PathBuf),
    /// Standard output cannot be written.
    #[error("cannot write the roles: {0}")]
    Output(#[from] io::Error),
    /// A role is no YAML.
    #[error("cannot write a role as YAML: {0}")]
    Yaml(#[from] serde_yaml_ng::Error),
}

/// Prints the roles: of the bridge, of each definition, of what is composed.
pub fn run(args: &RbacArgs) -> Result<(), RbacError> {
    let mut defined = Vec::new();
    for path in &args.definition {
        let documents = manifests::read(std::slice::from_ref(path))?;
        let definitions = documents.iter().filter_map(|document| {
            let types = document.object.types.as_ref()?;
            let is_definition = types.kind == "CompositeResourceDefinition"
                && types.api_version.starts_with("apiextensions.crossplane.io/");
            is_definition.then(|| DefinedKinds::read(document))
        });
        let before = defined.len();
        for one in definitions {
            defined.push(one?);
        }
        if defined.len() == before {
            return Err(RbacError::NoDefinition(path.clone()));
        }
    }
    let roles = roles::of_bridge(&defined, &args.composes);
    let documents: Result<String, _> = roles.into_iter().map(yaml_document).collect();
    Ok(print(&documents?)?)
}
