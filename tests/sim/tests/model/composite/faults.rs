//! All schedules of a life with one fault.

use super::{
    life::{LIFE, configmaps, live},
    process::{Fault, World},
};

pub fn lived(faults: &[(usize, Fault)]) -> Result<usize, String> {
    let mut world = World::new(configmaps);
    world.faults = faults.iter().copied().collect();
    live(&mut world, LIFE).map_err(|why| format!("{faults:?}: {why}; writes {:?}", world.api.writes))?;
    Ok(world.attempts())
}

#[test]
fn no_single_fault_leaks_or_loses_anything() {
    let writes = lived(&[]).unwrap();
    let mut wrong = Vec::new();
    for at in 0..writes {
        for fault in Fault::ALL {
            wrong.extend(lived(&[(at, fault)]).err());
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}: {:#?}",
        wrong.len(),
        writes * Fault::ALL.len(),
        wrong.first()
    );
}
