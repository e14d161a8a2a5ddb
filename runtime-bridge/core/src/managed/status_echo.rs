//! What the API server made of a status: other controllers, webhooks and schemas that are not the kind's own may change it on its way.

use crate::external::Document;

use super::status::Status;

/// What was sent, and what came back where that was something else.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StatusEcho {
    whole: Option<Box<(Status, Status)>>,
    /// Of the newest `atProvider` that was changed on its way, also when the rest was written since.
    at_provider: Option<Box<(Document, Option<Document>)>>,
}

impl StatusEcho {
    /// Takes in what became of a status that was sent.
    pub(super) fn learn(&mut self, sent: &Status, stored: &Status) {
        self.whole = (sent != stored).then(|| Box::new((sent.clone(), stored.clone())));
        if sent.at_provider == stored.at_provider {
            self.at_provider.take_if(|echo| echo.1 != stored.at_provider);
        } else {
            let sent = sent.at_provider.clone();
            self.at_provider = sent.map(|sent| Box::new((sent, stored.at_provider.clone())));
        }
    }

    /// The newest status would be sent as the last one was, and what is stored is what came of that.
    pub(super) fn came_of(&self, new: &Status, old: &Status) -> bool {
        let whole = self.whole.as_ref();
        whole.is_some_and(|echo| echo.0 == *new && echo.1 == *old)
    }

    /// What became of `atProvider` takes the place of what was sent as that, where it is stored still.
    pub(super) fn put_back(&self, old: &Status, new: &mut Status) {
        let of_it = |echo: &(Document, Option<Document>)| {
            new.at_provider.as_ref() == Some(&echo.0) && old.at_provider == echo.1
        };
        if self.at_provider.as_deref().is_some_and(of_it) {
            new.at_provider.clone_from(&old.at_provider);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{managed::status::ConditionValue, reasons::ConditionReason};

    fn status(at_provider: Value) -> Status {
        Status {
            at_provider: serde_json::from_value(at_provider).unwrap(),
            ..Status::default()
        }
    }

    fn with_condition(mut status: Status) -> Status {
        status.set(
            "Ready",
            &ConditionValue::yes(ConditionReason::Available),
            1,
            jiff::Timestamp::UNIX_EPOCH,
        );
        status
    }

    #[test]
    fn a_status_that_came_back_changed_counts_as_stored() {
        let (sent, stored) = (status(json!({"a": 1, "b": 2})), status(json!({"a": 1})));
        let mut echo = StatusEcho::default();
        assert!(!echo.came_of(&sent, &stored));
        echo.learn(&sent, &stored);
        assert!(echo.came_of(&sent, &stored));
        assert!(
            !echo.came_of(&sent, &status(json!({"a": 2}))),
            "another client wrote it"
        );
        assert!(
            !echo.came_of(&status(json!({"a": 3})), &stored),
            "it is another status"
        );
    }

    #[test]
    fn the_rest_is_written_without_sending_at_provider_anew() {
        let (sent, stored) = (status(json!({"a": 1, "b": 2})), status(json!({"a": 1})));
        let mut echo = StatusEcho::default();
        echo.learn(&sent, &stored);
        let mut new = with_condition(sent.clone());
        echo.put_back(&stored, &mut new);
        assert_eq!(new, with_condition(stored.clone()));
        echo.learn(&new, &new);
        let mut again = with_condition(sent);
        echo.put_back(&new, &mut again);
        assert_eq!(again, new, "what was learned first still holds");
    }

    #[test]
    fn what_somebody_else_stored_since_is_written_over() {
        let (sent, stored) = (status(json!({"a": 1, "b": 2})), status(json!({"a": 1})));
        let mut echo = StatusEcho::default();
        echo.learn(&sent, &stored);
        let theirs = status(json!({"a": 9}));
        let mut new = sent.clone();
        echo.put_back(&theirs, &mut new);
        assert_eq!(new, sent);
        echo.learn(&theirs, &theirs);
        echo.put_back(&stored, &mut new);
        assert_eq!(new, sent, "another answer has come since");
    }
}
