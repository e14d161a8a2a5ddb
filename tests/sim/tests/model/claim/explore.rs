//! Many schedules of a life with two faults.

use super::{faults::lived, life::LIFE, process::Fault};

#[test]
fn no_two_faults_leak_or_lose_anything() {
    let writes = lived(LIFE, &[]).unwrap();
    let mut wrong = Vec::new();
    let mut lives = 0;
    for first in 0..writes {
        for (nth, one) in Fault::ALL.into_iter().enumerate() {
            // The life is longer by what the first one costs.
            for second in (first + 1..writes + 6).step_by(2) {
                let other = Fault::ALL[(first + nth + second) % Fault::ALL.len()];
                lives += 1;
                wrong.extend(lived(LIFE, &[(first, one), (second, other)]).err());
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {lives}: {:#?}",
        wrong.len(),
        wrong.first()
    );
}
