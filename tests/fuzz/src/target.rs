//! What is fuzzed, and how it is judged.

/// One parser, and what is promised of it.
#[derive(Clone, Copy)]
pub struct Target {
    /// Names its corpus.
    pub name: &'static str,
    /// Whose input it is, and what is asserted of it beyond that nothing panics.
    pub about: &'static str,
    /// Words that mean something to it: mutation inserts them.
    pub words: &'static [&'static str],
    /// Judges one input.
    pub judge: fn(&[u8]) -> Verdict,
}

/// How an input was answered, in a few words: inputs that are answered alike are of no interest to each other. Or which promise it breaks.
pub type Verdict = Result<String, Broken>;

/// A promise that an input breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// Fails with a sentence unless the promise holds.
///
/// # Errors
/// What is broken.
pub fn ensure(holds: bool, promise: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(promise())) }
}

/// A rejection: it must say something, on one line of bounded length. Gives its words.
///
/// # Errors
/// It says nothing, or repeats all that was sent.
pub(crate) fn rejected(why: &str) -> Verdict {
    /// Most rejections quote what they reject.
    const LONGEST: usize = 4 * crate::fuzz::LONGEST_INPUT;
    ensure(why.split_whitespace().count() >= 2, || {
        format!("a rejection says nothing: {why:?}")
    })?;
    ensure(why.len() <= LONGEST, || {
        format!("a rejection has {} bytes", why.len())
    })?;
    Ok(format!("rejected: {}", words(why)))
}

/// The beginning of a sentence without what it quotes and counts.
fn words(text: &str) -> String {
    let mut quoted = false;
    let mut words = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '`' | '\'' => quoted = !quoted,
            _ if quoted => {}
            '0'..='9' => {}
            _ => words.push(letter),
        }
        if words.len() >= 60 {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejections_differ_by_their_words_not_by_what_they_quote() {
        assert_eq!(
            rejected("field \"a\" is 12 bytes"),
            rejected("field \"b\" is 7 bytes")
        );
        assert_ne!(rejected("it is long"), rejected("it is short"));
    }

    #[test]
    fn a_rejection_without_a_sentence_is_broken() {
        assert!(rejected("").is_err());
        assert!(rejected("no").is_err());
    }
}
