//! The list of assertions as a document.

use crate::suites;

/// A table of all assertions, by area.
pub fn assertions_markdown() -> String {
    let mut text = String::new();
    let mut assertions = suites::assertions();
    assertions.sort_by_key(|assertion| assertion.id);
    let mut area = "";
    for assertion in assertions {
        let its = assertion.id.split('/').next().unwrap_or_default();
        if its != area {
            area = its;
            text.push_str(&format!(
                "\n### {area}\n\n| id | level | rule | stands in |\n|---|---|---|---|\n"
            ));
        }
        text.push_str(&format!(
            "| `{}` | {} | {} | `{}` |\n",
            assertion.id, assertion.level, assertion.title, assertion.rule
        ));
    }
    text.trim_start().to_owned()
}
