//! Tables of a page, each with the note of the run that it is of: a run renews its own, as all of them together take hours.

/// A table, with what follows it until the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Section<'a> {
    /// The first cell of its heading: what the rows are of.
    kind: &'a str,
    text: &'a str,
}

/// The page's tables, with those of the run in place of those of the same kind, and what is new behind them.
pub(super) fn merge(page: &str, run: &str) -> String {
    let (page, run) = (sections(page), sections(run));
    let renewed = page
        .iter()
        .map(|old| run.iter().find(|new| new.kind == old.kind).unwrap_or(old));
    let is_new = |new: &&Section| page.iter().all(|old| old.kind != new.kind);
    let added = run.iter().filter(is_new);
    let texts: Vec<&str> = renewed.chain(added).map(|section| section.text).collect();
    format!("{}\n", texts.join("\n\n"))
}

/// What stands before the first table belongs to none.
fn sections(text: &str) -> Vec<Section<'_>> {
    let mut starts: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        starts.extend(heading(line).map(|kind| (at, kind)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([at]);
    let sections = starts.iter().zip(ends).map(|(&(start, kind), end)| Section {
        kind,
        text: text[start..end].trim(),
    });
    sections.collect()
}

/// `| an XR of 4 objects | unit | …`.
fn heading(line: &str) -> Option<&str> {
    let (kind, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
    rest.starts_with("unit | ").then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(kind: &str, value: &str, note: &str) -> String {
        format!("| {kind} | unit | ours |\n|---|---|---|\n| writes | per XR | {value} |\n\n{note}\n")
    }

    #[test]
    fn a_run_renews_its_own_tables_with_their_notes() {
        let page = format!(
            "{}\n{}\n{}",
            table("an XR", "6", "At a."),
            table("a claim", "9", "At a."),
            table("XRs", "1", "At a.")
        );
        let run = format!(
            "{}\n{}",
            table("usages", "3", "At b."),
            table("a claim", "8", "At b.")
        );
        let expected = format!(
            "{}\n{}\n{}\n{}",
            table("an XR", "6", "At a."),
            table("a claim", "8", "At b."),
            table("XRs", "1", "At a."),
            table("usages", "3", "At b.")
        );
        let merged = merge(&page, &run);
        assert_eq!(merged, expected);
        assert_eq!(merge(&merged, &run), expected);
        assert_eq!(merge("", &run), run);
    }
}
