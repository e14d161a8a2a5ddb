//! Just enough XML to change an answer: elements and text, without attributes, as the AWS protocols use it.

use std::fmt::Write;

/// An element with either text or children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    name: String,
    namespace: Option<String>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    /// The root of a document, or `None` if it is none.
    pub(crate) fn parse(document: &str) -> Option<Self> {
        roxmltree::Document::parse(document)
            .ok()
            .map(|document| Self::read(document.root_element(), None))
    }

    fn read(node: roxmltree::Node<'_, '_>, inherited: Option<&str>) -> Self {
        let namespace = node.tag_name().namespace();
        let children: Vec<_> = node
            .children()
            .filter(roxmltree::Node::is_element)
            .map(|child| Self::read(child, namespace))
            .collect();
        let text = if children.is_empty() {
            node.text().unwrap_or_default().to_owned()
        } else {
            String::new()
        };
        Self {
            name: node.tag_name().name().to_owned(),
            namespace: namespace
                .filter(|namespace| Some(*namespace) != inherited)
                .map(ToOwned::to_owned),
            text,
            children,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn children(&self) -> &[Self] {
        &self.children
    }

    pub(crate) fn children_mut(&mut self) -> &mut [Self] {
        &mut self.children
    }

    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(crate) fn child_mut(&mut self, name: &str) -> Option<&mut Self> {
        self.children.iter_mut().find(|child| child.name == name)
    }

    pub(crate) fn push(&mut self, child: Self) {
        self.children.push(child);
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.children.retain(|child| child.name != name);
    }

    pub(crate) fn truncate(&mut self, children: usize) {
        self.children.truncate(children);
    }

    /// Changes the text of a child that is there.
    pub(crate) fn set_text(&mut self, name: &str, text: &str) {
        if let Some(child) = self.child_mut(name) {
            text.clone_into(&mut child.text);
        }
    }

    pub(crate) fn to_document(&self) -> String {
        let mut document = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
        self.write(&mut document);
        document
    }

    fn write(&self, out: &mut String) {
        // Writing to a string never fails.
        let _ = write!(out, "<{}", self.name);
        if let Some(namespace) = &self.namespace {
            let _ = write!(out, " xmlns=\"{}\"", escape(namespace));
        }
        out.push('>');
        out.push_str(&escape(&self.text));
        for child in &self.children {
            child.write(out);
        }
        let _ = write!(out, "</{}>", self.name);
    }
}

/// Text as it may stand in an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_survives_reading_and_writing() {
        let document = "<A xmlns=\"urn:x\"><B>1 &lt; 2 &amp; 3</B><C><D></D></C></A>";
        let element = Element::parse(document).unwrap();
        assert_eq!(element.child("B").unwrap().text(), "1 < 2 & 3");
        assert!(
            element.to_document().ends_with(document),
            "{}",
            element.to_document()
        );
    }
}
