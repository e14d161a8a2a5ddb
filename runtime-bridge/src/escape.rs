//! Text of others on a line of ours: what it holds begins no line, and commands no terminal.

use std::borrow::Cow;

/// The same text on one line. Control characters are written as Rust would: `\n`, `\u{1b}`.
pub fn controls(text: &str) -> Cow<'_, str> {
    if text.chars().any(char::is_control) {
        let escaped = text.chars().map(|letter| {
            if letter.is_control() {
                letter.escape_default().to_string()
            } else {
                letter.to_string()
            }
        });
        Cow::Owned(escaped.collect())
    } else {
        Cow::Borrowed(text)
    }
}
