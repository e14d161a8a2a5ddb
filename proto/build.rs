//! Generates the contract's Rust types and its descriptor set from the `.proto` files, without protoc.

use std::{collections::BTreeMap, env, error::Error, fmt::Write, fs, path::PathBuf};

use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

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
    fs::write(out.join("shapes.rs"), shapes(&pool)?)?;
    tonic_prost_build::configure()
        .codec_path("crate::codec::CountingCodec")
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

/// What `src/codec.rs` counts an answer by: for each message the fields that hold messages or lists of numbers.
fn shapes(pool: &DescriptorPool) -> Result<String, Box<dyn Error>> {
    let mut statics = BTreeMap::new();
    let mut received = BTreeMap::new();
    for method in pool
        .services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
    {
        let output = method.output();
        add_shape(&output, &mut statics)?;
        received.insert(method.input().name().to_owned(), "None".to_owned());
        received.insert(
            output.name().to_owned(),
            format!("Some(&{})", identifier(&output)),
        );
    }
    let mut code: String = statics.into_values().collect();
    for (message, shape) in received {
        writeln!(
            code,
            "impl Received for wire::{message} {{ fn shape() -> Option<&'static Shape> {{ {shape} }} }}"
        )?;
    }
    Ok(code)
}

fn add_shape(
    message: &MessageDescriptor,
    statics: &mut BTreeMap<String, String>,
) -> Result<(), Box<dyn Error>> {
    let name = identifier(message);
    if statics.contains_key(&name) {
        return Ok(());
    }
    statics.insert(name.clone(), String::new());
    let (mut messages, mut packed) = (String::new(), String::new());
    for field in message.fields() {
        match field.kind() {
            Kind::Message(nested) => {
                add_shape(&nested, statics)?;
                write!(messages, "({}, &{}), ", field.number(), identifier(&nested))?;
            }
            Kind::String | Kind::Bytes => {}
            _ if field.cardinality() == Cardinality::Repeated => write!(packed, "{}, ", field.number())?,
            _ => {}
        }
    }
    let code = format!("static {name}: Shape = Shape {{ messages: &[{messages}], packed: &[{packed}] }};\n");
    statics.insert(name, code);
    Ok(())
}

fn identifier(message: &MessageDescriptor) -> String {
    message.full_name().replace('.', "_").to_uppercase()
}
