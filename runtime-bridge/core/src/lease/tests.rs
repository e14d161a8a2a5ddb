use super::*;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The wall clock runs with the ticks here; nothing is decided by it.
fn wall(ticks: Duration) -> Timestamp {
    Timestamp::UNIX_EPOCH + ticks
}

/// A lease in etcd, without Kubernetes.
#[derive(Default)]
struct Lease {
    found: Option<ObservedLease>,
    versions: u64,
}

impl Lease {
    fn write(&mut self, terms: &Terms, guard: Option<&str>) -> Result<String, NotWritten> {
        if guard != self.found.as_ref().map(|found| found.version.as_str()) {
            return Err(NotWritten::Overtaken);
        }
        self.versions += 1;
        let version = self.versions.to_string();
        self.found = Some(ObservedLease {
            version: version.clone(),
            terms: terms.clone(),
        });
        Ok(version)
    }

    /// One step of a candidate, at once. What it did, as text.
    fn step(&mut self, of: &mut Election, at: Duration) -> String {
        let step = of.next(at, wall(at));
        match &step {
            ElectionStep::Wait(_) => {}
            ElectionStep::Read => of.record_read(self.found.clone(), at),
            ElectionStep::Create(terms) => of.record_written(terms.clone(), self.write(terms, None), at, at),
            ElectionStep::Replace { version, terms } => {
                of.record_written(terms.clone(), self.write(terms, Some(version)), at, at);
            }
        }
        step.to_string()
    }

    /// Until it waits.
    fn round(&mut self, of: &mut Election, at: Duration) -> Vec<String> {
        let mut steps = Vec::new();
        while !matches!(of.next(at, wall(at)), ElectionStep::Wait(_)) {
            steps.push(self.step(of, at));
        }
        steps
    }
}

fn candidate(name: &str) -> Election {
    Election::new(name, Timing::default())
}

fn leads(of: &Election, at: Duration) -> bool {
    of.leads_until().is_some_and(|until| at < until)
}

#[test]
fn the_first_candidate_creates_and_renews_the_lease() {
    let (mut lease, mut a) = (Lease::default(), candidate("a"));
    assert_eq!(
        lease.round(&mut a, s(0)),
        ["read", "create: a for 15s, transition 0"]
    );
    assert_eq!(a.leads_until(), Some(s(10)));
    assert_eq!(a.next(s(1), wall(s(1))), ElectionStep::Wait(s(2)));
    assert_eq!(lease.round(&mut a, s(2)), ["replace 1: a for 15s, transition 0"]);
    assert_eq!(a.leads_until(), Some(s(12)));
    let terms = lease.found.unwrap().terms;
    assert_eq!(
        (terms.acquired, terms.renewed),
        (Some(wall(s(0))), Some(wall(s(2))))
    );
}

#[test]
fn a_second_one_waits_until_the_lease_stood_unchanged_for_its_duration() {
    let (mut lease, mut a, mut b) = (Lease::default(), candidate("a"), candidate("b"));
    lease.round(&mut a, s(0));
    // It looks as if the lease were old: only what it saw itself counts.
    assert_eq!(lease.round(&mut b, s(9)), ["read"]);
    assert_eq!(b.holder(), "a");
    for at in [11, 13, 15, 17, 19, 21, 23] {
        assert_eq!(lease.round(&mut b, s(at)), ["read"], "{at}");
    }
    assert_eq!(
        lease.round(&mut b, s(25)),
        ["read", "replace 1: b for 15s, transition 1"]
    );
    assert!(leads(&b, s(25)) && !leads(&a, s(25)));
}

#[test]
fn a_renewal_starts_the_wait_anew() {
    let (mut lease, mut a, mut b) = (Lease::default(), candidate("a"), candidate("b"));
    lease.round(&mut a, s(0));
    lease.round(&mut b, s(1));
    for at in 2..=24 {
        if at == 9 {
            lease.round(&mut a, s(at));
        }
        lease.round(&mut b, s(at));
        assert_eq!(b.leads_until(), None, "{at}");
    }
    lease.round(&mut b, s(26));
    assert!(leads(&b, s(26)));
}

#[test]
fn a_resumed_former_leader_does_not_lead() {
    let (mut lease, mut a, mut b) = (Lease::default(), candidate("a"), candidate("b"));
    lease.round(&mut a, s(0));
    for at in 0..=20 {
        lease.round(&mut b, s(at));
    }
    assert!(leads(&b, s(20)));
    // Nothing of it ran since 0 s: by its own ticks it knows all the same.
    assert!(!leads(&a, s(20)));
    assert_eq!(
        lease.round(&mut a, s(20)),
        ["replace 1: a for 15s, transition 0", "read"]
    );
    assert_eq!((a.holder(), a.leads_until()), ("b", None));
}

#[test]
fn leadership_counts_from_when_the_renewal_was_sent() {
    let (mut lease, mut a) = (Lease::default(), candidate("a"));
    lease.round(&mut a, s(0));
    let ElectionStep::Replace { version, terms } = a.next(s(2), wall(s(2))) else {
        panic!("it is to be renewed");
    };
    let written = lease.write(&terms, Some(&version));
    a.record_written(terms, written, s(2), s(9));
    assert_eq!(a.leads_until(), Some(s(12)));
}

#[test]
fn a_renewal_that_fails_is_tried_again_and_does_not_prolong() {
    let (mut lease, mut a) = (Lease::default(), candidate("a"));
    lease.round(&mut a, s(0));
    let terms = lease.found.clone().unwrap().terms;
    a.record_written(terms, Err(NotWritten::Failed), s(2), s(7));
    assert_eq!(a.leads_until(), Some(s(10)));
    assert_eq!(a.next(s(8), wall(s(8))), ElectionStep::Wait(s(9)));
    assert_eq!(
        lease.round(&mut a, s(9)),
        ["read", "replace 1: a for 15s, transition 0"]
    );
    assert_eq!(a.leads_until(), Some(s(19)));
}

#[test]
fn a_write_that_landed_unnoticed_is_recognised_as_ours() {
    let (mut lease, mut a) = (Lease::default(), candidate("a"));
    lease.step(&mut a, s(0));
    let ElectionStep::Create(terms) = a.next(s(0), wall(s(0))) else {
        panic!("it is to be made");
    };
    lease.write(&terms, None).unwrap();
    a.record_written(terms, Err(NotWritten::Failed), s(0), s(5));
    assert_eq!(a.leads_until(), None);
    assert_eq!(
        lease.round(&mut a, s(7)),
        ["read", "replace 1: a for 15s, transition 0"]
    );
}

#[test]
fn of_two_that_find_it_free_one_leads() {
    let (mut lease, mut a, mut b) = (Lease::default(), candidate("a"), candidate("b"));
    lease.step(&mut a, s(0));
    lease.step(&mut b, s(0));
    lease.step(&mut a, s(0));
    assert_eq!(
        lease.round(&mut b, s(0)),
        ["create: b for 15s, transition 0", "read"]
    );
    assert!(leads(&a, s(0)) && !leads(&b, s(0)));
}

#[test]
fn a_released_lease_is_acquired_at_once() {
    let (mut lease, mut a, mut b) = (Lease::default(), candidate("a"), candidate("b"));
    lease.round(&mut a, s(0));
    lease.round(&mut b, s(1));
    let Some(ElectionStep::Replace { version, terms }) = a.release(wall(s(2))) else {
        panic!("it is let go");
    };
    assert_eq!(terms.to_string(), "nobody for 1s, transition 0");
    lease.write(&terms, Some(&version)).unwrap();
    assert_eq!(a.leads_until(), None);
    assert_eq!(
        lease.round(&mut b, s(3)),
        ["read", "replace 2: b for 15s, transition 1"]
    );
    assert_eq!(b.release(wall(s(3))).map(|_| ()), Some(()));
    assert_eq!(candidate("c").release(wall(s(3))), None);
}

#[test]
fn a_lease_taken_by_hand_is_not_fought_over() {
    let (mut lease, mut a) = (Lease::default(), candidate("a"));
    lease.round(&mut a, s(0));
    let stolen = Terms {
        holder: "operator".to_owned(),
        ..lease.found.clone().unwrap().terms
    };
    lease.write(&stolen, Some("1")).unwrap();
    assert_eq!(
        lease.round(&mut a, s(2)),
        ["replace 1: a for 15s, transition 0", "read"]
    );
    assert_eq!(a.leads_until(), None);
}

#[test]
fn a_deleted_lease_is_recreated() {
    let (mut lease, mut a) = (Lease::default(), candidate("a"));
    lease.round(&mut a, s(0));
    lease.found = None;
    let steps = lease.round(&mut a, s(2));
    assert_eq!(
        steps,
        [
            "replace 1: a for 15s, transition 0",
            "read",
            "create: a for 15s, transition 0"
        ]
    );
    assert!(leads(&a, s(2)));
}

#[test]
fn at_no_tick_do_two_lead_however_they_stall() {
    // Every pattern of which of two candidates runs in each of seven spans of 5 s.
    for pattern in 0..4_u32.pow(7) {
        let (mut lease, mut a, mut b) = (Lease::default(), candidate("a"), candidate("b"));
        for span in 0..7 {
            let runs = pattern / 4_u32.pow(span) % 4;
            for at in u64::from(span) * 5..u64::from(span) * 5 + 5 {
                if runs & 1 != 0 {
                    lease.round(&mut a, s(at));
                }
                if runs & 2 != 0 {
                    lease.round(&mut b, s(at));
                }
                assert!(
                    !(leads(&a, s(at)) && leads(&b, s(at))),
                    "both lead at {at} s under pattern {pattern}"
                );
            }
        }
    }
}

#[test]
fn inconsistent_durations_are_rejected() {
    let timing = |lease_duration, renew_deadline, retry_period| Timing {
        lease_duration,
        renew_deadline,
        retry_period,
    };
    let table = [
        (Timing::default(), None),
        (timing(s(3), s(2), Duration::from_millis(500)), None),
        (timing(s(10), s(10), s(2)), Some(TimingError::DeadlineAfterEnd)),
        (timing(s(15), s(10), s(5)), Some(TimingError::NoSecondTry)),
        (
            timing(Duration::from_millis(1500), s(1), Duration::from_millis(200)),
            Some(TimingError::Fraction),
        ),
        (timing(s(0), s(0), s(0)), Some(TimingError::Fraction)),
    ];
    for (timing, refused) in table {
        assert_eq!(timing.check().err(), refused, "{timing:?}");
    }
}
