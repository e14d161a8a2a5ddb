//! Generates the Rust types of the function contract and of `render` and their descriptor set from the `.proto` files, without protoc.

use std::{env, error::Error, fs, path::PathBuf};

use prost_reflect::{DescriptorPool, FieldDescriptor};

const FILES: [&str; 2] = [
    "apiextensions/fn/proto/v1/run_function.proto",
    "crossplane/render/v1alpha1/render.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..");
    for file in FILES {
        println!("cargo:rerun-if-changed={}", root.join(file).display());
    }
    let mut compiler = protox::Compiler::new([&root])?;
    compiler
        .include_source_info(true)
        .include_imports(true)
        .open_files(FILES.map(|file| root.join(file)))?;
    let encoded = compiler.encode_file_descriptor_set();
    fs::write(
        PathBuf::from(env::var("OUT_DIR")?).join("descriptor_set.bin"),
        &encoded,
    )?;

    let pool = DescriptorPool::decode(encoded.as_slice())?;
    tonic_prost_build::configure()
        .skip_debug(messages_with_secrets(&pool))
        // An encoding is digested and cached by, so it must be the same each time.
        .btree_map(".")
        // Objects stay encoded until they are read: prost ends at a nesting that schemas do reach, and what they hold must not be printed.
        .extern_path(".google.protobuf.Struct", "crate::Struct")
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
