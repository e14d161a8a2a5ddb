//! The list of rules, and what taking one out does to a text.

use crate::Failure;

/// A rule of the machine, and the one-line patch that takes it out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// For people.
    pub(super) name: String,
    /// Traces that it closes, or what else it is for.
    pub(super) closes: String,
    /// Where it stands.
    pub(super) file: String,
    /// The line, without its indentation.
    pub(super) line: String,
    /// What the line becomes; `OUT` is true while the rule is out.
    pub(super) without: String,
}

impl Rule {
    /// The traces that it closes and whose own tests do not miss it, by the names of those that failed while it was out.
    pub(super) fn deaf_traces(&self, failed: &[String]) -> Vec<u32> {
        let numbers = self.closes.split(", ").filter_map(|number| number.parse().ok());
        numbers
            .filter(|number| {
                let own = format!("::trace_{number:02}_");
                !failed.iter().any(|test| test.contains(&own))
            })
            .collect()
    }
}

/// Reads the list: blocks of `key: value`, an empty line between them; the first one is for people.
pub(super) fn read(list: &str) -> Result<Vec<Rule>, Failure> {
    list.split("\n\n").skip(1).map(block).collect()
}

fn block(text: &str) -> Result<Rule, Failure> {
    let mut rule = Rule::default();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(": ") else {
            return Err(Failure::new(format!("not a `key: value`: {line:?}")));
        };
        let field = match key {
            "rule" => &mut rule.name,
            "closes" => &mut rule.closes,
            "file" => &mut rule.file,
            "line" => &mut rule.line,
            "without" => &mut rule.without,
            _ => return Err(Failure::new(format!("no rule has a {key:?}"))),
        };
        value.clone_into(field);
    }
    let whole = [&rule.name, &rule.closes, &rule.file, &rule.line, &rule.without];
    if whole.iter().any(|field| field.is_empty()) {
        return Err(Failure::new(format!("something is missing: {rule:?}")));
    }
    Ok(rule)
}

/// Rules that can be built into one copy: no two of the same line.
pub(super) fn rounds(rules: &[Rule]) -> Vec<Vec<Rule>> {
    let mut rounds: Vec<Vec<Rule>> = Vec::new();
    for rule in rules {
        let free = rounds.iter_mut().find(|round| {
            round
                .iter()
                .all(|other| (&other.file, &other.line) != (&rule.file, &rule.line))
        });
        match free {
            Some(round) => round.push(rule.clone()),
            None => rounds.push(vec![rule.clone()]),
        }
    }
    rounds
}

impl Rule {
    /// The text with this rule to be taken out at will. Its line must stand there once.
    pub(super) fn patch(&self, text: &str) -> Result<String, Failure> {
        let stands = text.lines().filter(|line| line.trim() == self.line).count();
        if stands != 1 {
            return Err(Failure::new(format!(
                "the rule {:?} does not apply: its line stands {stands} times in {}; correct tests/sim/rules/rules.txt",
                self.name, self.file
            )));
        }
        let out = format!("crate::taken_out({:?})", self.name);
        let patched = text.lines().map(|line| {
            if line.trim() == self.line {
                self.without.replace("OUT", &out)
            } else {
                line.to_owned()
            }
        });
        Ok(patched.collect::<Vec<_>>().join("\n") + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "For people.\n\nrule: one\ncloses: 1, 2\nfile: a.rs\nline: x > 1\nwithout: OUT || x > 1\n\n\
        rule: two\ncloses: 3\nfile: a.rs\nline: x > 1\nwithout: !OUT && x > 1\n\n\
        rule: three\ncloses: 4\nfile: b.rs\nline: x > 1\nwithout: OUT\n";

    #[test]
    fn a_trace_that_a_rule_closes_fails_without_it() {
        let rule = &read(LIST).unwrap()[0];
        let failed = ["traces::create::trace_01_a_late_create", "writes::trace_022"].map(str::to_owned);
        assert_eq!(rule.deaf_traces(&failed), [2]);
    }

    #[test]
    fn rules_of_one_line_are_built_apart() {
        let rules = read(LIST).unwrap();
        let names = |round: &Vec<Rule>| round.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>();
        let rounds: Vec<_> = rounds(&rules).iter().map(names).collect();
        assert_eq!(rounds, [vec!["one", "three"], vec!["two"]]);
    }

    #[test]
    fn a_patch_changes_its_line_alone_and_must_find_it_once() {
        let rule = &read(LIST).unwrap()[0];
        let patched = rule.patch("if\n    x > 1\n{}\n").unwrap();
        assert_eq!(patched, "if\ncrate::taken_out(\"one\") || x > 1\n{}\n");
        assert!(rule.patch("x > 1\nx > 1\n").is_err());
        assert!(rule.patch("x > 2\n").is_err());
    }

    #[test]
    fn every_rule_of_the_list_applies() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
        let rules = read(&text("tests/sim/rules/rules.txt")).unwrap();
        assert!(rules.len() > 50);
        for rule in rules {
            rule.patch(&text(&rule.file)).unwrap();
        }
    }

    #[test]
    fn an_unreadable_list_is_a_failure() {
        assert!(read("\n\nrule: one").is_err());
        assert!(read("\n\nwhat: one").is_err());
        assert!(read("\n\nsomething").is_err());
    }
}
