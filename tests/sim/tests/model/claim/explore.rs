//! Many schedules of a life with two faults.

use super::{faults::lived, life::LIFE, process::Fault};

#[test]
fn no_two_faults_leak_or_lose_anything() {
    let writes = lived(LIFE, &[]).unwrap();
    let mut wrong = Vec::new();
    let mut lives = 0;
    for first in 0..writes {
        for one in Fault::ALL {
            // The life is longer by what the first one costs.
            for second in first + 1..writes + 6 {
                for other in Fault::ALL {
                    lives += 1;
                    wrong.extend(lived(LIFE, &[(first, one), (second, other)]).err());
                }
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
