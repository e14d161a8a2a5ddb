//! An `atProvider` that the API server refuses, as the kind's schema does not have it so or it is too large. The rest of the status is written
//! without it: else nobody would learn what is wrong, and no deletion could be noted.

use jiff::{SignedDuration, Timestamp};

use super::status::Status;
use crate::{back_off::policies, external::Document};

/// What became of the newest `atProvider` that was sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AtProviderRefusal {
    /// The status that is being written changes it; when that began.
    sent: Option<Timestamp>,
    refused: Option<Box<Refused>>,
}

#[derive(Debug, Clone, PartialEq)]
struct Refused {
    /// In a row.
    times: u32,
    until: Timestamp,
    why: String,
}

impl AtProviderRefusal {
    /// A status is about to be written.
    pub(super) fn begin(&mut self, old: &Status, new: &Status, now: Timestamp) {
        self.sent = (new.at_provider != old.at_provider).then_some(now);
    }

    /// It was stored, or whether it was is not known.
    pub(super) fn end(&mut self, stored: bool) {
        if self.sent.take().is_some() && stored {
            self.refused = None;
        }
    }

    /// It was rejected.
    pub(super) fn reject(&mut self, why: &str) {
        let Some(began) = self.sent.take() else { return };
        let times = self.refused.as_ref().map_or(0, |refused| refused.times);
        let times = times.saturating_add(1);
        let pause = policies::AT_PROVIDER.wait(times, 0.0);
        self.refused = Some(Box::new(Refused {
            times,
            until: began + SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX),
            why: why.to_owned(),
        }));
    }

    /// Leaves out what would be refused again. The answer is until when, and a sentence for people.
    pub(super) fn leave_out(
        &self,
        old: &Status,
        new: &mut Option<Document>,
        now: Timestamp,
    ) -> Option<(Timestamp, String)> {
        let refused = self.refused.as_deref().filter(|refused| now < refused.until)?;
        new.take_if(|new| old.at_provider.as_ref() != Some(new))?;
        let message = format!(
            "the API server refuses what the plugin reports as status.atProvider, which stays as it was: {}; the plugin's answer and the status schema that it declares do not agree, which its authors have to mend",
            refused.why
        );
        Some((refused.until, message))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(at_provider: &Value) -> Status {
        Status {
            at_provider: at_provider.as_object().cloned(),
            ..Status::default()
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// A status with another `atProvider` is sent, and rejected.
    fn rejected(refusal: &mut AtProviderRefusal, second: i64) {
        refusal.begin(
            &status(&json!({"size": 1})),
            &status(&json!({"size": "x"})),
            at(second),
        );
        refusal.reject("must be an integer");
    }

    /// Until when another one is left out.
    fn left_out(refusal: &AtProviderRefusal, second: i64) -> Option<i64> {
        let mut new = status(&json!({"size": "y"})).at_provider;
        let until = refusal.leave_out(&status(&json!({"size": 1})), &mut new, at(second));
        assert_eq!(new.is_none(), until.is_some());
        let (until, why) = until?;
        assert!(why.contains("must be an integer"), "{why}");
        Some(until.as_second())
    }

    #[test]
    fn it_is_left_out_longer_each_time_that_it_is_rejected() {
        let mut refusal = AtProviderRefusal::default();
        assert_eq!(left_out(&refusal, 0), None);
        rejected(&mut refusal, 0);
        assert_eq!(left_out(&refusal, 59), Some(60));
        assert_eq!(left_out(&refusal, 60), None);
        rejected(&mut refusal, 60);
        assert_eq!(left_out(&refusal, 179), Some(180));
        for _ in 0..20 {
            rejected(&mut refusal, 100);
        }
        assert_eq!(left_out(&refusal, 699), Some(700));
    }

    #[test]
    fn what_is_stored_ends_it_and_what_changes_nothing_does_not() {
        let mut refusal = AtProviderRefusal::default();
        rejected(&mut refusal, 0);
        let same = status(&json!({"size": 1}));
        refusal.begin(&same, &same, at(1));
        refusal.end(true);
        assert_eq!(left_out(&refusal, 2), Some(60), "the rest alone was written");
        refusal.begin(&same, &status(&json!({"size": 2})), at(61));
        refusal.end(true);
        assert_eq!(left_out(&refusal, 2), None);
    }

    #[test]
    fn a_rejection_of_the_rest_says_nothing_of_it() {
        let mut refusal = AtProviderRefusal::default();
        let same = status(&json!({"size": 1}));
        refusal.begin(&same, &same, at(0));
        refusal.reject("no");
        assert_eq!(refusal, AtProviderRefusal::default());
    }

    #[test]
    fn what_is_stored_already_is_not_complained_of() {
        let mut refusal = AtProviderRefusal::default();
        rejected(&mut refusal, 0);
        let stored = status(&json!({"size": 1}));
        assert_eq!(
            refusal.leave_out(&stored, &mut stored.at_provider.clone(), at(1)),
            None
        );
    }
}
