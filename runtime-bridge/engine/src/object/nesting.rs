//! How deeply a JSON text may be nested to be read.

use serde_json::value::RawValue;

/// Lists and objects within each other that `serde_json` reads; the API server stores more.
const DEEPEST: usize = 127;

/// Whether a text, which is JSON, can be parsed into a value. Nothing is parsed for it.
pub(crate) fn is_readable(json: &RawValue) -> bool {
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
            assert_eq!(is_readable(&raw), is_parsed(&text), "{text}");
        }
    }
}
