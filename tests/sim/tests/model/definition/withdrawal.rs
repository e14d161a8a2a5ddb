//! Claims that are offered no more, of a definition that stays.

use bridge_core::definition::teardown::{Crd, Objects, Seen, withdraw};

use super::sample::{CLAIMS, at, crd, ending, order, prints};

fn offering(objects: Objects) -> Seen {
    Seen {
        is_reported: false,
        claims: Some(crd(CLAIMS, objects)),
        ..ending()
    }
}

fn planned(seen: &Seen, lines: &[&str]) {
    prints(&withdraw(seen, at(9)).unwrap(), lines);
}

#[test]
fn claims_are_left_to_their_users() {
    planned(
        &offering(Objects::Watched(vec![order("one/claim")])),
        &[
            "later: CRD claims.example.org",
            "message: waiting for 1 composite resource claim(s) to be deleted",
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn the_crd_goes_once_the_api_server_lists_no_claim() {
    planned(
        &offering(Objects::Watched(Vec::new())),
        &["list composite resource claims past the caches"],
    );
    planned(
        &offering(Objects::Listed(Vec::new())),
        &[
            "delete CRD claims.example.org with uid uid-of-claims.example.org in version 7",
            r#"message: waiting for the CustomResourceDefinition "claims.example.org" to be deleted"#,
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn nothing_is_withdrawn_where_no_own_crd_is_left() {
    assert_eq!(withdraw(&ending(), at(9)), None);
    let foreign = Crd {
        controller: Some("other".to_owned()),
        ..crd(CLAIMS, Objects::Listed(Vec::new()))
    };
    let seen = Seen {
        claims: Some(foreign),
        ..ending()
    };
    assert_eq!(withdraw(&seen, at(9)), None);
}
