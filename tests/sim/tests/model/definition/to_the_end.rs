//! A definition from its deletion to its end: each plan is carried out in a small world, and the next one follows from what is left there alone.

use bridge_core::definition::{
    Side,
    teardown::{Crd, Deletion, Objects, Plan, Seen, plan},
};

use super::sample::{CLAIMS, COMPOSITES, at, crd, ending, order};

/// The plan was carried out, whatever of it is observed. The answer names what went.
fn carry_out(seen: &mut Seen, plan: &Plan) -> Vec<String> {
    seen.is_reported |= plan.reports;
    let mut went = Vec::new();
    for deletion in &plan.deletions {
        match deletion {
            Deletion::Object(object) => {
                went.push(object.name.clone());
                for crd in [&mut seen.claims, &mut seen.composites].into_iter().flatten() {
                    let left = crd.objects.left().iter().filter(|left| left.uid != object.uid);
                    crd.objects = Objects::Watched(left.cloned().collect());
                }
            }
            Deletion::Crd(crd) => {
                went.push(crd.name.clone());
                let sides = [&mut seen.claims, &mut seen.composites];
                for side in sides {
                    side.take_if(|found| found.uid == crd.uid);
                }
            }
        }
    }
    if let Some(side) = plan.side.filter(|_| plan.lists) {
        let crd: &mut Crd = match side {
            Side::Claim => seen.claims.as_mut().unwrap(),
            Side::Composite => seen.composites.as_mut().unwrap(),
        };
        crd.objects = Objects::Listed(crd.objects.left().to_vec());
    }
    seen.finalizers
        .retain(|finalizer| !plan.finalizers.contains(&finalizer.as_str()));
    went
}

#[test]
fn everything_goes_in_order_and_nothing_is_left() {
    let mut seen = Seen {
        is_reported: false,
        claims: Some(crd(
            CLAIMS,
            Objects::Watched(vec![order("one/claim"), order("two/claim")]),
        )),
        composites: Some(crd(COMPOSITES, Objects::Watched(vec![order("a"), order("b")]))),
        ..ending()
    };
    let mut went = Vec::new();
    for _ in 0..20 {
        let plan = plan(&seen, at(0));
        assert!(
            seen.is_reported || plan.deletions.is_empty(),
            "deleted unseen: {plan}"
        );
        went.extend(carry_out(&mut seen, &plan));
        if plan.is_over() {
            break;
        }
    }
    assert_eq!(
        went,
        [
            "Order.example.org one/claim",
            "Order.example.org two/claim",
            CLAIMS,
            "Order.example.org a",
            "Order.example.org b",
            COMPOSITES,
        ]
    );
    assert_eq!(seen.finalizers, ["example.org/other"]);
    assert_eq!((seen.claims, seen.composites), (None, None));
}
