//! What the API server stores, and nobody can read as it is.

use std::fmt;

use serde_json::value::RawValue;

/// Lists and objects within each other that `serde_json` reads; the API server stores more.
const DEEPEST: usize = 127;

/// How the keys begin by which `serde_json` tells itself what it parses: an object that has one is read as something else, or not at all.
const RESERVED: &str = "\"$serde_json::private::";

/// Why a text, which is JSON, is not read: what it would say is not what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is nested too deeply.
    TooDeep,
    /// It has such a key, or a text that begins so.
    ReservedKey,
}

impl fmt::Display for Unreadable {
    /// With what to do about it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(
                f,
                "it is nested more than {DEEPEST} levels deep; make it shallower"
            ),
            // Not the whole beginning: a status that repeats this is to be readable.
            Self::ReservedKey => f.write_str("it has a key that begins with \"$serde_json\"; rename it"),
        }
    }
}

/// Why a text, which is JSON, cannot be parsed into the value that it is; `None`: it can. Nothing is parsed for it.
pub(crate) fn unreadable(json: &RawValue) -> Option<Unreadable> {
    match () {
        () if !is_shallow(json) => Some(Unreadable::TooDeep),
        () if has_reserved_key(json) => Some(Unreadable::ReservedKey),
        () => None,
    }
}

/// The API server escapes nothing of it.
pub(crate) fn has_reserved_key(json: &RawValue) -> bool {
    json.get().contains(RESERVED)
}

fn is_shallow(json: &RawValue) -> bool {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for byte in json.get().bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > DEEPEST {
                    return false;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn what_is_readable_is_what_can_be_parsed() {
        let nested =
            |open: &str, close: &str, depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let texts = [
            nested("[", "]", DEEPEST),
            nested("[", "]", DEEPEST + 1),
            nested(r#"{"a":"#, "}", DEEPEST),
            nested(r#"{"a":"#, "}", DEEPEST + 1),
            format!(r#"["{}", "\\"]"#, "[".repeat(1000)),
            format!("[{}[]]", "[],".repeat(1000)),
        ];
        let is_parsed = |text: &String| serde_json::from_str::<Value>(text).is_ok();
        assert!(!is_parsed(&texts[1]) && is_parsed(&texts[0]));
        for text in texts {
            let raw = RawValue::from_string(text.clone()).unwrap();
            assert_eq!(unreadable(&raw).is_none(), is_parsed(&text), "{text}");
        }
    }

    #[test]
    fn what_would_be_read_as_something_else_is_not_readable() {
        let key = format!("{}RawValue", &RESERVED[1..]);
        for inner in ["[1]", "no JSON"] {
            let text = serde_json::json!({"tags": {&key: inner}}).to_string();
            let read = serde_json::from_str::<Value>(&text).map(|value| value.to_string());
            assert_ne!(read.ok().as_ref(), Some(&text));
            let raw = RawValue::from_string(text).unwrap();
            assert_eq!(unreadable(&raw), Some(Unreadable::ReservedKey));
        }
        for why in [Unreadable::ReservedKey, Unreadable::TooDeep] {
            let said = serde_json::json!({"message": why.to_string()}).to_string();
            assert_eq!(unreadable(&RawValue::from_string(said).unwrap()), None);
        }
    }
}
