//! Generates the contract's Rust types and its descriptor set from the `.proto` files, without protoc.

use std::{env, error::Error, fs, path::PathBuf};

use prost_reflect::{DescriptorPool, FieldDescriptor};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let folder = root.join("crossbridge/provider/v1alpha1");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(&folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "proto"));
    files.sort();

    let mut compiler = protox::Compiler::new([&root])?;
    compiler
        .include_source_info(true)
        .include_imports(true)
        .open_files(&files)?;
    let encoded = compiler.encode_file_descriptor_set();
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptor_set.bin"), &encoded)?;

    let pool = DescriptorPool::decode(encoded.as_slice())?;
    tonic_prost_build::configure()
        .skip_debug(messages_with_secrets(&pool))
        // A kind's encoding is digested, so it must be the same each time.
        .btree_map(".crossbridge.provider.v1alpha1.KindExample")
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

/// Messages that hold a field marked `debug_redact`: `src/redact.rs` writes their `Debug`.
fn messages_with_secrets(pool: &DescriptorPool) -> Vec<String> {
    pool.all_messages()
        .filter(|message| message.fields().any(|field| is_secret(&field)))
        .map(|message| message.full_name().to_owned())
        .collect()
}

fn is_secret(field: &FieldDescriptor) -> bool {
    field
        .options()
        .get_field_by_name("debug_redact")
        .and_then(|value| value.as_bool())
        .unwrap_or(false)
}
