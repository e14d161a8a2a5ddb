//! `metadata` without its managed fields, which are half of an object and of which the bridge needs nothing.

use std::{fmt, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, IgnoredAny, MapAccess, Visitor,
        value::{MapAccessDeserializer, StrDeserializer},
    },
};

/// Managed fields are passed over without being parsed, and may be nested to any depth: those of a deep spec are as deep.
pub(super) struct Metadata(pub(super) ObjectMeta);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MetadataVisitor)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Metadata, A::Error> {
        ObjectMeta::deserialize(MapAccessDeserializer::new(WithoutManagedFields(map))).map(Metadata)
    }
}

/// The same map, without that key.
struct WithoutManagedFields<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithoutManagedFields<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, mut seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            match self.0.next_key_seed(FieldSeed(seed))? {
                None => return Ok(None),
                Some(Field::Wanted(field)) => return Ok(Some(field)),
                Some(Field::Managed(unused)) => {
                    // In serde_json, this neither recurses nor allocates.
                    self.0.next_value::<IgnoredAny>()?;
                    seed = unused;
                }
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

enum Field<K, V> {
    Wanted(V),
    /// With the seed, for the field after it.
    Managed(K),
}

struct FieldSeed<K>(K);

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for FieldSeed<K> {
    type Value = Field<K, K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(FieldVisitor(self.0, PhantomData))
    }
}

struct FieldVisitor<'de, K>(K, PhantomData<&'de ()>);

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for FieldVisitor<'de, K> {
    type Value = Field<K, K::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field of metadata")
    }

    fn visit_str<E: serde::de::Error>(self, field: &str) -> Result<Self::Value, E> {
        if field == "managedFields" {
            return Ok(Field::Managed(self.0));
        }
        self.0.deserialize(StrDeserializer::new(field)).map(Field::Wanted)
    }
}
