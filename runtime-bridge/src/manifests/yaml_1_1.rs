//! Plain scalars that are booleans in YAML 1.1, which kubectl reads, and text in YAML 1.2, which is read here.

/// Each in lower case, capitalised, and in upper case.
const WORDS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

/// The first such scalar, or key, and its line from 1.
pub fn boolean(text: &str) -> Option<(usize, String)> {
    let mut scan = Scan::default();
    text.lines()
        .zip(1..)
        .find_map(|(line, number)| Some((number, scan.line(line)?)))
}

/// Where in a document the scan stands between two lines.
#[derive(Default)]
struct Scan {
    /// The quotation mark of a scalar that goes on.
    quote: Option<char>,
    /// The indentation of the line that began a block scalar: deeper lines are its text.
    block: Option<usize>,
}

impl Scan {
    fn line(&mut self, line: &str) -> Option<String> {
        let indentation = line.len() - line.trim_start().len();
        if let Some(begun) = self.block {
            if line.trim().is_empty() || indentation > begun {
                return None;
            }
            self.block = None;
        }
        let (mut found, mut token, mut before) = (None, String::new(), ' ');
        for character in line.chars() {
            match self.quote {
                Some(quote) if character == quote && before != '\\' => self.quote = None,
                Some(_) => {}
                None if character == '#' && before.is_whitespace() => break,
                None if matches!(character, '"' | '\'') && token.trim().is_empty() => {
                    self.quote = Some(character);
                    // What is quoted is no plain scalar, whatever comes behind it.
                    token.push('"');
                }
                None if matches!(character, ',' | '[' | ']' | '{' | '}') => {
                    found = found.or_else(|| word(&token));
                    token.clear();
                }
                None if character == ' ' && matches!(before, ':' | '-') => {
                    let scalar = token.trim_end_matches([':', '-']).to_owned();
                    found = found.or_else(|| word(&scalar));
                    token.clear();
                }
                None => token.push(character),
            }
            before = character;
        }
        let rest = token.trim();
        if self.quote.is_none() && rest.starts_with(['|', '>']) {
            self.block = Some(indentation);
        }
        found.or_else(|| word(rest.strip_suffix(':').unwrap_or(rest)))
    }
}

fn word(token: &str) -> Option<String> {
    let token = token.trim();
    let is_word = WORDS.iter().any(|word| {
        let capitalised = format!("{}{}", word[..1].to_uppercase(), &word[1..]);
        token == *word || token == capitalised || token == word.to_uppercase()
    });
    is_word.then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::boolean;

    #[test]
    fn what_kubectl_reads_otherwise_is_found() {
        let found = [
            ("a:\n  - type: N\n", 2, "N"),
            ("a: {type: no, b: 1}", 1, "no"),
            ("a: [x, Yes]", 1, "Yes"),
            ("on: push", 1, "on"),
            ("- off # a comment", 1, "off"),
            ("a: |\n  no\nb: ON\n", 3, "ON"),
            ("a: \"x\"\nb: y\n", 2, "y"),
        ];
        for (text, line, word) in found {
            assert_eq!(boolean(text), Some((line, word.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_both_read_alike_is_not() {
        let fine = [
            "a: \"N\"",
            "a: 'no'",
            "a: true",
            "a: not",
            "a: yes-man",
            "a: say no",
            "a: |\n  no\n  on\n",
            "a: >-\n  yes\n",
            "# no",
            "a: \"x\n  no\"",
            "{\"a\": \"no\", \"b\": [\"on\"]}",
            "a: b-no",
            "a: http://x:1/no",
            "---\na: {b: c}\n",
        ];
        for text in fine {
            assert_eq!(boolean(text), None, "{text}");
        }
    }
}
