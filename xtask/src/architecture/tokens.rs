//! Rust source, as far as imports need it: words and marks, without comments, literals and what is built for tests only.

/// A word or a mark, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

impl Token {
    pub(super) fn is_word(&self) -> bool {
        self.text
            .starts_with(|first: char| first.is_alphabetic() || first == '_')
    }
}

/// The tokens of a file. `::` is one, every other mark is alone.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut tokens = without_tests(&read(source));
    tokens.retain(|token| !token.text.starts_with('"'));
    tokens
}

/// The plain literals of a file, without those of its tests.
pub(crate) fn literals(source: &str) -> Vec<String> {
    let tokens = without_tests(&read(source)).into_iter();
    let literals = tokens.filter(|token| token.text.starts_with('"'));
    literals.map(|token| token.text).collect()
}

/// Those of tests too, and plain literals.
pub(super) fn read(source: &str) -> Vec<Token> {
    let text: Vec<char> = source.chars().collect();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while let Some(&first) = text.get(at) {
        let begin = at;
        at = match first {
            '/' if text.get(at + 1) == Some(&'/') => end_of(&text, at, |rest| rest[0] == '\n'),
            '/' if text.get(at + 1) == Some(&'*') => end_of_comment(&text, at),
            '"' => end_of_text(&text, at),
            'r' | 'b' | 'c' if let Some(end) = end_of_prefixed_text(&text, at) => end,
            '\'' => end_of_char_or_lifetime(&text, at),
            word if word.is_alphanumeric() || word == '_' => {
                end_of(&text, at, |rest| !(rest[0].is_alphanumeric() || rest[0] == '_'))
            }
            ':' if text.get(at + 1) == Some(&':') => at + 2,
            _ => at + 1,
        };
        let is_other_literal = at > begin + 1 && first != '"' && matches!(text[at - 1], '"' | '#');
        let is_comment = first == '/' && at > begin + 1;
        let is_token = !first.is_whitespace() && first != '\'' && !is_comment && !is_other_literal;
        if is_token {
            let text = text[begin..at].iter().collect();
            tokens.push(Token { text, line });
        }
        line += text[begin..at].iter().filter(|one| **one == '\n').count();
    }
    tokens
}

/// The first place after `at` of which `is_end` holds, or the end.
fn end_of(text: &[char], at: usize, is_end: impl Fn(&[char]) -> bool) -> usize {
    (at + 1..text.len())
        .find(|place| is_end(&text[*place..]))
        .unwrap_or(text.len())
}

fn end_of_comment(text: &[char], at: usize) -> usize {
    let (mut depth, mut at) = (0_usize, at);
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') if depth == 1 => return at + 2,
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

fn end_of_text(text: &[char], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// `r"…"`, `br#"…"#` and the like; `None`: it is a word.
fn end_of_prefixed_text(text: &[char], at: usize) -> Option<usize> {
    let letters = text[at..].iter().take_while(|one| "rbc".contains(**one)).count();
    let is_raw = text[at..at + letters].contains(&'r');
    let hashes = text[at + letters..].iter().take_while(|one| **one == '#').count();
    let quote = at + letters + hashes;
    if letters > 2 || text.get(quote) != Some(&'"') || (hashes > 0 && !is_raw) {
        return None;
    }
    if !is_raw {
        return Some(end_of_text(text, quote));
    }
    let closes = |rest: &[char]| {
        rest[0] == '"' && rest[1..].iter().take(hashes).filter(|one| **one == '#').count() == hashes
    };
    Some((end_of(text, quote, closes) + 1 + hashes).min(text.len()))
}

fn end_of_char_or_lifetime(text: &[char], at: usize) -> usize {
    match text.get(at + 1) {
        Some('\\') => end_of(text, at + 2, |rest| rest[0] == '\'') + 1,
        Some(_) if text.get(at + 2) == Some(&'\'') => at + 3,
        _ => at + 1,
    }
}

/// Without each item that follows `#[cfg(test)]`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let starts_with = |place: usize, marks: &[&str]| {
        marks.iter().enumerate().all(|(number, mark)| {
            tokens
                .get(place + number)
                .is_some_and(|token| token.text == *mark)
        })
    };
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if starts_with(at, &["#", "[", "cfg", "(", "test", ")", "]"]) {
            at = end_of_item(tokens, at + 7);
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// After its `;`, or after the brace that closes its body.
fn end_of_item(tokens: &[Token], begin: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(begin) {
        match token.text.as_str() {
            ";" if depth == 0 => return place + 1,
            "{" | "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" => {
                depth = depth.saturating_sub(1);
                let is_import = tokens.get(place + 1).is_some_and(|next| next.text == ";");
                if depth == 0 && !is_import {
                    return place + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> String {
        let tokens = tokens(source);
        let texts: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        texts.join(" ")
    }

    #[test]
    fn comments_and_literals_are_left_out() {
        assert_eq!(texts("a /* b /* c */ d */ e // f\ng"), "a e g");
        assert_eq!(
            texts(r##"a("use b; \" c", r#"d "e" "#, b"f", '"', 'x', '\'')"##),
            "a ( , , , , , )"
        );
        assert_eq!(texts("fn f<'a>(b: &'a c::d)"), "fn f < a > ( b : & a c :: d )");
    }

    #[test]
    fn items_for_tests_are_left_out() {
        assert_eq!(texts("#[cfg(test)] mod tests { fn a() { b } } use c;"), "use c ;");
        assert_eq!(
            texts("#[cfg(test)] use a::{b, c}; #[cfg(test)] mod tests; use d;"),
            "use d ;"
        );
    }

    #[test]
    fn lines_are_counted_through_comments_and_literals() {
        let lines: Vec<usize> = tokens("a\n/* \n */ b \"\n\" c")
            .iter()
            .map(|token| token.line)
            .collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
