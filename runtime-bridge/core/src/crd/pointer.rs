//! JSON Pointers (RFC 6901) in which `*` stands for any list index or map key.

/// Stands for any list index or map key.
pub(super) const ANY: &str = "*";

/// The unescaped tokens; none for the whole document.
pub(super) fn tokens(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// The pointer of these tokens.
pub(super) fn join<S: AsRef<str>>(tokens: &[S]) -> String {
    tokens.iter().fold(String::new(), |pointer, token| {
        pointer + "/" + &token.as_ref().replace('~', "~0").replace('/', "~1")
    })
}
