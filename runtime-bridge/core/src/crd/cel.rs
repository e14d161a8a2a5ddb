//! Property names as CEL in Kubernetes writes them.

/// Words that are not names in CEL.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The property's name in a CEL expression; `None` if CEL cannot reach it.
pub(super) fn name(property: &str) -> Option<String> {
    let first = property.chars().next()?;
    let reachable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if first.is_ascii_digit() || !property.chars().all(reachable) {
        return None;
    }
    if RESERVED.contains(&property) {
        return Some(format!("__{property}__"));
    }
    Some(
        property
            .replace("__", "__underscores__")
            .replace('.', "__dot__")
            .replace('-', "__dash__")
            .replace('/', "__slash__"),
    )
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn names_are_escaped_as_the_api_server_does() {
        let cases = [
            ("region", Some("region")),
            ("namespace", Some("__namespace__")),
            ("a-b.c/d", Some("a__dash__b__dot__c__slash__d")),
            ("a__b", Some("a__underscores__b")),
            ("$ref", None),
            ("1st", None),
            ("", None),
        ];
        for (property, expected) in cases {
            assert_eq!(name(property).as_deref(), expected, "{property}");
        }
    }
}
