//! One plan at a time.

use bridge_core::definition::teardown::{Crd, Objects, Rejected, Seen, plan};

use super::sample::{CLAIMS, COMPOSITES, at, crd, deleting, ending, in_use, order, prints, unlisted};

fn planned(seen: &Seen, lines: &[&str]) {
    prints(&plan(seen, at(9)), lines);
}

#[test]
fn claims_go_before_composite_resources() {
    let seen = Seen {
        claims: Some(crd(CLAIMS, Objects::Watched(vec![order("one/claim")]))),
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("a"), order("b")]))),
        ..ending()
    };
    planned(
        &seen,
        &[
            "delete Order.example.org one/claim with uid uid-one/claim in version 3",
            "later: CRD claims.example.org, composite resources, CRD orders.example.org, finalizers",
            "event RedactClaim: waiting for defined composite resource claims to be deleted",
            "message: waiting for 1 composite resource claim(s) to be deleted",
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

/// Its dependants are to stay: the garbage collector takes their owner references off, and then its own finalizer.
#[test]
fn a_definition_that_leaves_its_dependants_deletes_nothing() {
    let ending = ending();
    let orphaning = Seen {
        finalizers: [ending.finalizers.clone(), vec!["orphan".to_owned()]].concat(),
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("a")]))),
        ..ending
    };
    planned(
        &orphaning,
        &[
            "later: CRD orders.example.org, finalizers",
            r#"message: waiting for the garbage collector to take the owner reference off the CustomResourceDefinition "orders.example.org", as the definition was deleted with --cascade=orphan"#,
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn the_crd_of_claims_goes_before_composite_resources() {
    let seen = Seen {
        claims: Some(crd(CLAIMS, Objects::Listed(Vec::new()))),
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("a")]))),
        ..ending()
    };
    planned(
        &seen,
        &[
            "delete CRD claims.example.org with uid uid-of-claims.example.org in version 7",
            "later: composite resources, CRD orders.example.org, finalizers",
            r#"message: waiting for the CustomResourceDefinition "claims.example.org" to be deleted"#,
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn composite_resources_of_all_namespaces_are_deleted_one_by_one() {
    let seen = Seen {
        composites: Some(crd(
            COMPOSITES,
            Objects::Watched(vec![order("one/a"), deleting("one/b"), order("two/a")]),
        )),
        ..ending()
    };
    planned(
        &seen,
        &[
            "delete Order.example.org one/a with uid uid-one/a in version 3",
            "delete Order.example.org two/a with uid uid-two/a in version 3",
            "later: CRD orders.example.org, finalizers",
            "event TerminateComposite: waiting for defined composite resources to be deleted",
            "message: waiting for 3 composite resource(s) to be deleted",
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn that_no_object_is_left_is_asked_of_the_api_server() {
    let seen = Seen {
        composites: Some(crd(COMPOSITES, Objects::Watched(Vec::new()))),
        ..ending()
    };
    planned(
        &seen,
        &["list composite resources past the caches", "later: finalizers"],
    );
}

#[test]
fn what_the_list_shows_beside_the_watch_is_deleted() {
    let seen = Seen {
        composites: Some(crd(COMPOSITES, Objects::Listed(vec![order("one/late")]))),
        ..ending()
    };
    planned(
        &seen,
        &[
            "delete Order.example.org one/late with uid uid-one/late in version 3",
            "later: CRD orders.example.org, finalizers",
            "event TerminateComposite: waiting for defined composite resources to be deleted",
            "message: waiting for 1 composite resource(s) to be deleted",
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn a_crd_that_never_served_goes_at_once() {
    let seen = Seen {
        composites: Some(crd(COMPOSITES, Objects::NeverServed)),
        ..ending()
    };
    planned(
        &seen,
        &[
            "delete CRD orders.example.org with uid uid-of-orders.example.org in version 7",
            "later: finalizers",
            r#"message: waiting for the CustomResourceDefinition "orders.example.org" to be deleted"#,
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn a_crd_that_is_being_deleted_is_waited_for() {
    let listed = crd(COMPOSITES, Objects::Listed(Vec::new()));
    let seen = Seen {
        composites: Some(Crd {
            is_deleting: true,
            ..listed
        }),
        ..ending()
    };
    planned(
        &seen,
        &[
            "later: finalizers",
            r#"message: waiting for the CustomResourceDefinition "orders.example.org" to be deleted"#,
            "again at 1970-01-01T00:00:14Z",
        ],
    );
}

#[test]
fn the_status_says_it_before_anything_is_deleted() {
    let seen = Seen {
        is_reported: false,
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("one/a")]))),
        ..ending()
    };
    planned(
        &seen,
        &[
            "report first",
            "later: CRD orders.example.org, finalizers",
            "message: waiting for 1 composite resource(s) to be deleted",
        ],
    );
}

#[test]
fn what_is_in_use_is_kept_and_named() {
    let seen = Seen {
        composites: Some(crd(
            COMPOSITES,
            Objects::Watched(vec![order("one/c"), in_use("one/b"), in_use("one/a")]),
        )),
        ..ending()
    };
    let plan = plan(&seen, at(9));
    let refused = "refused by an admission webhook or policy: it is in use by Usage one/keep-one";
    prints(
        &plan,
        &[
            "delete Order.example.org one/c with uid uid-one/c in version 3",
            &format!("keep Order.example.org one/b: {refused}/b"),
            &format!("keep Order.example.org one/a: {refused}/a"),
            "later: CRD orders.example.org, finalizers",
            "event TerminateComposite: waiting for defined composite resources to be deleted",
            "message: waiting for 3 composite resource(s) to be deleted",
            "again at 1970-01-01T00:00:14Z",
        ],
    );
    let waits = "waiting for 3 composite resource(s) to be deleted; cannot delete Order.example.org";
    let kept = format!("{waits} one/a: {refused}/a");
    assert_eq!(plan.message_after(None), Some(kept.clone()));
    // The first by name is named, whoever keeps it.
    let rejected = |name: &str| Rejected {
        what: format!("Order.example.org {name}"),
        why: "no".to_owned(),
    };
    assert_eq!(plan.message_after(Some(&rejected("two/a"))), Some(kept));
    let first = plan.message_after(Some(&rejected("a/a")));
    assert_eq!(first, Some(format!("{waits} a/a: no")));
}

#[test]
fn nothing_goes_while_usages_are_unknown() {
    let seen = Seen {
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("one/a")]))),
        unlisted: Some(unlisted()),
        ..ending()
    };
    let later = "later: CRD orders.example.org, finalizers";
    prints(&plan(&seen, at(9)), &[later, "again at 1970-01-01T00:00:10Z"]);
    let message = "message: waiting for 1 composite resource(s) to be deleted; usages cannot be listed: \
                   Usage.protection.crossplane.io: still listing. One of them may protect it, so that nothing is deleted until they can. \
                   See: kubectl get usages.protection.crossplane.io,clusterusages.protection.crossplane.io,\
                   usages.apiextensions.crossplane.io -A";
    prints(
        &plan(&seen, at(10)),
        &[later, message, "again at 1970-01-01T00:00:15Z"],
    );
}

#[test]
fn no_crd_goes_while_usages_are_unknown() {
    let seen = Seen {
        composites: Some(crd(COMPOSITES, Objects::Listed(Vec::new()))),
        unlisted: Some(unlisted()),
        ..ending()
    };
    planned(&seen, &["later: finalizers", "again at 1970-01-01T00:00:10Z"]);
}

#[test]
fn what_cannot_be_listed_is_said_and_waited_for() {
    let seen = Seen {
        is_reported: false,
        composites: Some(crd(COMPOSITES, Objects::Unreadable("not permitted".to_owned()))),
        ..ending()
    };
    planned(
        &seen,
        &[
            "later: CRD orders.example.org, finalizers",
            "message: cannot see what is left to be deleted: not permitted",
        ],
    );
}

#[test]
fn the_crd_of_another_owner_is_left_alone() {
    for controller in [None, Some("other".to_owned())] {
        let foreign = Crd {
            controller,
            ..crd(COMPOSITES, Objects::Watched(vec![order("one/a")]))
        };
        let seen = Seen {
            composites: Some(foreign),
            ..ending()
        };
        planned(
            &seen,
            &[
                "stop serving",
                "remove finalizer defined.apiextensions.crossplane.io",
                "remove finalizer offered.apiextensions.crossplane.io",
                "over",
            ],
        );
    }
}

#[test]
fn a_definition_without_finalizers_plans_nothing() {
    let seen = Seen {
        finalizers: vec!["example.org/other".to_owned()],
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("one/a")]))),
        ..ending()
    };
    planned(&seen, &["over"]);
}
