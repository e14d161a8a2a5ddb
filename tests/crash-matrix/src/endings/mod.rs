//! The crash matrix of endings: composite resources, claims, usages and definitions end while bridges are killed before and after each write.
//!
//! Each case is a story with its own namespace. What the API server held is recorded as it changed ([`record`]), in the order of its
//! revisions, and judged by that order alone ([`verdict`]).

pub mod batch;
pub mod manifests;
pub mod processes;
pub mod record;
pub mod stage;
pub mod story;
pub mod summary;
pub mod verdict;

/// How the names of all that belongs to a case begin.
const STORY: &str = "story-";
/// Digits that follow.
const DIGITS: usize = 4;

/// The name of the story of this number.
pub fn story_name(number: usize) -> String {
    format!("{STORY}{number:0DIGITS$}")
}

/// The story that a path, or a document, names first.
pub fn story_in(text: &str) -> Option<String> {
    let begin = text.find(STORY)?;
    let name = text.get(begin..begin + STORY.len() + DIGITS)?;
    let digits = name.strip_prefix(STORY)?;
    digits
        .bytes()
        .all(|digit| digit.is_ascii_digit())
        .then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{story_in, story_name};

    #[test]
    fn a_story_is_recognized_wherever_it_is_named() {
        let name = story_name(17);
        for text in [
            "/api/v1/namespaces/story-0017-b/configmaps?fieldManager=x",
            "/apis/story-0017.endings.example.org/v1/orders",
            r#"{"metadata":{"name":"story-0017-8x5fk"}}"#,
        ] {
            assert_eq!(story_in(text).as_ref(), Some(&name), "{text}");
        }
        for text in [
            "",
            "/api/v1/namespaces/default/configmaps",
            "story-",
            "story-00x7-b",
        ] {
            assert_eq!(story_in(text), None, "{text}");
        }
    }
}
