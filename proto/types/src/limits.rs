//! How large what a plugin says may be. What is over its limit is a failure of that answer, kind or plugin, which names the field; texts for people
//! are cut instead. Every number of the contract's limits stands here.

use std::{borrow::Cow, time::Duration};

use serde_json::Value;

/// One line of the contract's table of limits.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What is limited.
    pub what: &'static str,
    /// The number, with its unit, and what becomes of more.
    pub limit: &'static str,
}

/// External names, ids, etags, markers, digests and the like, in bytes.
pub const NAME: usize = 1 << 10;

/// Texts for people, in bytes: what is longer is cut.
pub const TEXT: usize = 4 << 10;

/// Warnings of one answer.
pub const WARNINGS: usize = 16;

/// Differences of one observation. The longest list that is written as one resource, the rules of a firewall, has about a thousand entries in the
/// large clouds, and a plugin may name each of them.
pub const DIFFS: usize = 1 << 10;

/// Fields at fault that one failure names.
pub const VIOLATIONS: usize = 64;

/// Connection details of one answer, in bytes, names included.
pub const CONNECTION_DETAILS: usize = 1 << 20;

/// One answer, in bytes.
pub const ANSWER: usize = 4 << 20;

/// An answer of more than this is a large one, in bytes.
pub const LARGE_ANSWER: usize = 256 << 10;

/// Large answers of one plugin that the bridge receives and parses at once, of observations and likewise of all other calls: the others wait.
pub const LARGE_ANSWERS: usize = 4;

/// Observations that are kept in memory from one reconcile to the next, of all objects of one plugin together, in bytes as they lie there.
pub const KEPT_OBSERVATIONS: usize = 128 << 20;

/// Fields of one answer, those of messages within it included: each message takes many times the room that it has on the wire.
pub const FIELDS: usize = 32 << 10;

/// Kinds of one plugin.
pub const KINDS: usize = 512;

/// Each schema of a kind, and that of the settings, in bytes.
pub const SCHEMA: usize = 256 << 10;

/// Field rules of a kind; and its columns, keys, examples, names.
pub const RULES: usize = 256;

/// Nesting of a JSON document.
pub const DEPTH: usize = 64;

/// Values in one JSON document: each takes many times the room of its text.
pub const VALUES: usize = 32 << 10;

/// All that a plugin says of itself and of its kinds, in bytes.
pub const HANDSHAKE: usize = 64 << 20;

/// How long it may take to say that.
pub const HANDSHAKE_WITHIN: Duration = Duration::from_secs(30);

/// JSON values in the schemas and examples of all kinds of a plugin.
pub const HANDSHAKE_VALUES: usize = 512 << 10;

/// Definitions, by name, that one process of the bridge ever installs or checks for a plugin.
pub const DEFINITIONS: usize = 2 * KINDS;

/// The table of the documents.
pub const ALL: &[Row] = &[
    Row {
        what: "external name, id, etag, found marker, digest, instance id, page token, key",
        limit: "1 KiB, without control characters",
    },
    Row {
        what: "text for people: message, description, upstream code and request id",
        limit: "4 KiB; what is longer is cut, and control characters are replaced",
    },
    Row {
        what: "warnings of an answer",
        limit: "16",
    },
    Row {
        what: "differences of an observation (`diffs`)",
        limit: "1024, with a path of 1 KiB each, and 32768 values in all of them together",
    },
    Row {
        what: "field violations of a failure",
        limit: "64",
    },
    Row {
        what: "connection details of an answer",
        limit: "1 MiB together, under keys that the kind declares",
    },
    Row {
        what: "answer of a plugin",
        limit: "4 MiB; about a resource more, where the operator says so (`--plugin-max-answer`)",
    },
    Row {
        what: "fields of an answer, those of messages within it included",
        limit: "32768",
    },
    Row {
        what: "answers of more than 256 KiB that are received and parsed of a plugin at once",
        limit: "4 of observations and 4 of other calls; the others wait, within their deadlines",
    },
    Row {
        what: "observations of about 512 KiB in memory that reconciles of a plugin hold at once",
        limit: "4; others wait before they are made, and one that was not known to be so large is made again; one plugin's are parsed and compared one at a time",
    },
    Row {
        what: "observations of a plugin that are kept in memory from one reconcile to the next",
        limit: "about 64 KiB each and 128 MiB together; what is not kept is observed again where it is needed",
    },
    Row {
        what: "kinds of a plugin",
        limit: "512",
    },
    Row {
        what: "schema",
        limit: "256 KiB",
    },
    Row {
        what: "field rules of a kind; likewise its columns, connection keys, examples, short names, categories; credential keys",
        limit: "256 of each",
    },
    Row {
        what: "nesting of a JSON document",
        limit: "64",
    },
    Row {
        what: "values in a JSON document, those of lists and objects included",
        limit: "32768",
    },
    Row {
        what: "GetPluginInfo, ListResourceKinds and GetResourceKind of a plugin, all together",
        limit: "30 s, 64 MiB",
    },
    Row {
        what: "JSON values in the schemas and examples of all kinds of a plugin",
        limit: "524288",
    },
    Row {
        what: "names of CRDs that a process of the bridge ever serves for a plugin",
        limit: "1024; what is published under others after that is rejected until the bridge is restarted",
    },
];

/// A text for people: what is too long is cut, and what a terminal would obey is replaced.
#[must_use]
pub fn cut(text: String) -> String {
    let text = match printable(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(printable) => printable,
    };
    if text.len() <= TEXT {
        return text;
    }
    let end = text.floor_char_boundary(TEXT - '…'.len_utf8());
    format!("{}…", &text[..end])
}

/// The same text; what a terminal would obey is replaced.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_fine = |letter: char| !letter.is_control() || letter == '\n' || letter == '\t';
    if text.chars().all(is_fine) {
        return Cow::Borrowed(text);
    }
    let shown = |letter: char| {
        if is_fine(letter) {
            letter
        } else {
            char::REPLACEMENT_CHARACTER
        }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

/// How many values a JSON text holds at least, without parsing it. Exact where it is well formed and no list or object is empty.
#[must_use]
pub fn values_in(text: &str) -> usize {
    let (mut count, mut in_string, mut is_escaped) = (0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

/// Whether a JSON value is nested no deeper than [`DEPTH`].
#[must_use]
pub fn is_shallow(value: &Value) -> bool {
    fits(value, DEPTH)
}

fn fits(value: &Value, most: usize) -> bool {
    match value {
        Value::Array(items) => most > 0 && items.iter().all(|item| fits(item, most - 1)),
        Value::Object(fields) => most > 0 && fields.values().all(|field| fits(field, most - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_letters_and_keeps_its_lines() {
        assert_eq!(cut("two\nlines\t".to_owned()), "two\nlines\t");
        assert_eq!(cut("\u{1b}[31mred\r".to_owned()), "\u{fffd}[31mred\u{fffd}");
        let long = cut("é".repeat(TEXT));
        assert!(long.len() <= TEXT && long.ends_with("é…"), "{}", long.len());
        assert_eq!(cut("x".repeat(TEXT)).len(), TEXT);
    }

    #[test]
    fn values_are_counted_outside_texts() {
        assert_eq!(values_in(r#"{"a": [1, 2, {"b": "x,[{\\\","}], "c,": null}"#), 6);
        assert_eq!(values_in(""), 0);
    }

    #[test]
    fn nesting_is_counted() {
        let nested = |levels: usize| (0..levels).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        assert!(is_shallow(&nested(DEPTH)));
        assert!(!is_shallow(&nested(DEPTH + 1)));
    }
}
