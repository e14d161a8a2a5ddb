//! A tree of objects as a table, a line for each.

use super::{
    super::tree::Tree,
    node::{ConditionState, Node},
};

const HEADINGS: [&str; 5] = ["NAME", "RESOURCE", "SYNCED", "READY", "STATUS"];

/// The whole tree.
pub(in crate::trace) fn table(root: &Node) -> String {
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    add(root, "", "", &mut rows);
    let widths: [usize; 5] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    });
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let padding = " ".repeat(width.saturating_sub(cell.chars().count()) + 3);
            line.push_str(cell);
            line.push_str(&padding);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn add(node: &Node, branch: &str, below: &str, rows: &mut Vec<[String; 5]>) {
    let namespace = node
        .namespace
        .as_ref()
        .map(|namespace| format!(" ({namespace})"))
        .unwrap_or_default();
    let value = |condition: &Option<ConditionState>| {
        let status = condition.as_ref().map(|condition| condition.status.clone());
        status.unwrap_or_else(|| "-".to_owned())
    };
    rows.push([
        format!("{branch}{}/{}{namespace}", node.kind, node.name),
        node.resource_name.clone().unwrap_or_default(),
        value(&node.synced),
        value(&node.ready),
        node.status(),
    ]);
    for (index, child) in node.children.iter().enumerate() {
        let (branch, indent) = Tree::branch(index + 1 == node.children.len());
        add(
            child,
            &format!("{below}{branch}"),
            &format!("{below}{indent}"),
            rows,
        );
    }
}
