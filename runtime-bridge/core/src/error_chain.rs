//! Errors for people.

use std::error::Error;

/// An error with its causes, on one line: transports say the useful thing last. A cause that was told already is left out.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct TestError(&'static str, #[source] Option<Box<TestError>>);

    #[test]
    fn each_cause_is_printed_once() {
        let refused = TestError("connection refused", None);
        let connect = TestError("cannot connect: connection refused", Some(Box::new(refused)));
        let top = TestError("no answer", Some(Box::new(connect)));
        assert_eq!(error_chain(&top), "no answer: cannot connect: connection refused");
    }
}
