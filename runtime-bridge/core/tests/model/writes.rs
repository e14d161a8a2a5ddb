//! As few writes as safety allows (design 4.1): counted.

use crate::{kinds, world::Model};

#[test]
fn smoke() {
    for subject in kinds::all() {
        let mut model = Model::started(&subject);
        model.rest();
        eprintln!("{} {:?} {:?}", subject.name, subject.manners.create, model.writes);
        eprintln!("{}", model.log.join("\n"));
        model.verify();
    }
}
