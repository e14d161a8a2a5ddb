//! What `kubectl get` prints in columns.

/// A table as it was printed, and its cells.
#[derive(Debug)]
pub(super) struct Table {
    lines: Vec<String>,
    /// Titles, and the characters at which their columns begin.
    columns: Vec<(String, usize)>,
}

/// One line of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    table: &'a Table,
    line: &'a str,
}

impl Table {
    /// Titles hold no spaces, and no title is the end of another one.
    pub(super) fn parse(text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let header = lines.first().map(String::as_str).unwrap_or_default();
        let mut columns = Vec::new();
        let mut at = 0;
        for part in header.split_inclusive(' ') {
            let title = part.trim_end();
            if !title.is_empty() {
                columns.push((title.to_owned(), at));
            }
            at += part.chars().count();
        }
        Self { lines, columns }
    }

    pub(super) fn lines(&self) -> &[String] {
        &self.lines
    }

    /// All lines but the titles.
    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let lines = self.lines.iter().skip(1);
        lines.map(|line| Row { table: self, line })
    }
}

impl<'a> Row<'a> {
    /// What stands in the column of this title; empty: nothing, or there is no such column.
    pub(super) fn cell(self, title: &str) -> &'a str {
        let columns = &self.table.columns;
        let Some(number) = columns.iter().position(|(known, _)| known == title) else {
            return "";
        };
        let byte = |at: usize| {
            self.line
                .char_indices()
                .nth(at)
                .map_or(self.line.len(), |(byte, _)| byte)
        };
        let begin = columns.get(number).map_or(0, |(_, at)| byte(*at));
        let end = columns
            .get(number + 1)
            .map_or(self.line.len(), |(_, at)| byte(*at));
        match self.line.get(begin..end).unwrap_or_default().trim_end() {
            "<none>" => "",
            cell => cell,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn cells_are_found_by_the_titles_of_their_columns() {
        let text = "KIND      NAME   WAITS-FOR             IN-USE-BY\n\
                    Storage   shop   2 of 3 remain: “a”    <none>\n\
                    Queue     q      <none>                Usage default/u: a uses q\n";
        let table = Table::parse(text);
        let cells: Vec<[&str; 3]> = table
            .rows()
            .map(|row| ["KIND", "WAITS-FOR", "IN-USE-BY"].map(|title| row.cell(title)))
            .collect();
        assert_eq!(
            cells,
            [
                ["Storage", "2 of 3 remain: “a”", ""],
                ["Queue", "", "Usage default/u: a uses q"]
            ]
        );
        assert_eq!(table.lines().len(), 3);
        let unknown = table.rows().map(|row| row.cell("AGE"));
        assert!(unknown.into_iter().all(str::is_empty));
    }

    #[test]
    fn no_text_is_a_table_without_rows() {
        assert_eq!(Table::parse("").rows().count(), 0);
    }
}
