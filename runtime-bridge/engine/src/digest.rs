//! What digests are made of, and how they are shown.

use bridge_core::external::Secrets;

/// Takes in names and values, each after its length, so that no two sets of secrets are taken in alike.
pub(crate) fn feed(secrets: &Secrets, mut update: impl FnMut(&[u8])) {
    for (name, value) in &secrets.0 {
        feed_part(name.as_bytes(), &mut update);
        feed_part(value, &mut update);
    }
}

/// One part, after its length.
pub(crate) fn feed_part(part: &[u8], mut update: impl FnMut(&[u8])) {
    update(&(part.len() as u64).to_be_bytes());
    update(part);
}

/// Two digits for each byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_name_ends_counts() {
        let fed = |name: &str, value: &str| {
            let secrets = Secrets([(name.to_owned(), value.as_bytes().to_vec())].into());
            let mut bytes = Vec::new();
            feed(&secrets, |part| bytes.extend_from_slice(part));
            hex(&bytes)
        };
        assert_eq!(
            fed("a", "b"),
            "0000000000000001610000000000000001".to_owned() + "62"
        );
        assert_ne!(fed("ab", "c"), fed("a", "bc"));
    }
}
