use serde_json::{Value, json};

use super::*;

fn life(kind: &str, name: &str, controller: &str, dates: (u64, Option<u64>, Option<u64>)) -> Life {
    let (created, marked, gone) = dates;
    Life {
        story: "story-0001".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        controller: controller.to_owned(),
        created,
        marked,
        gone,
        ..Life::default()
    }
}

/// A composite resource of three `ConfigMap`s and a usage, deleted as it should be.
fn ended() -> Lives {
    let composed = [
        "ConfigMap first",
        "ConfigMap second",
        "ConfigMap third",
        "Usage u",
    ];
    let xr = Life {
        said: Some(11),
        referred: composed.map(|composed| (composed.to_owned(), 1)).into(),
        ..life("Order", "story-0001/web", "", (1, Some(10), Some(30)))
    };
    let usage = Life {
        last: json!({"spec": {
            "of": {"resourceRef": {"name": "first"}}, "by": {"resourceRef": {"name": "third"}},
        }}),
        ..life("Usage", "story-0001/u", "xr", (5, Some(14), Some(22)))
    };
    let composed = |name: &str, marked, gone| {
        let name = format!("story-0001/{name}");
        life("ConfigMap", &name, "xr", (2, Some(marked), Some(gone)))
    };
    Lives::from([
        ("xr".to_owned(), xr),
        ("u".to_owned(), usage),
        ("1".to_owned(), composed("first", 24, 24)),
        ("2".to_owned(), composed("second", 13, 13)),
        ("3".to_owned(), composed("third", 15, 20)),
    ])
}

fn counts(faults: &Faults) -> [usize; 4] {
    [
        &faults.left_over,
        &faults.out_of_order,
        &faults.in_use,
        &faults.touched,
    ]
    .map(Vec::len)
}

fn changed(uid: &str, change: impl Fn(&mut Life)) -> Lives {
    let mut lives = ended();
    change(lives.get_mut(uid).unwrap());
    lives
}

#[test]
fn an_end_in_order_has_no_faults() {
    let faults = judge(Story::CompositeDeleted, &ended());
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn each_fault_is_counted_where_it_belongs() {
    for (lives, expected) in [
        // Left over, and its owner did not wait.
        (changed("2", |life| life.gone = None), [1, 1, 0, 0]),
        (changed("xr", |life| life.said = Some(13)), [0, 1, 0, 0]),
        // It exists before its reference does, or without one.
        (changed("1", |life| life.created = 1), [0, 1, 0, 0]),
        (
            changed("xr", |life| {
                life.referred.remove("Usage u");
            }),
            [0, 1, 0, 0],
        ),
        (changed("xr", |life| life.gone = Some(23)), [0, 1, 0, 0]),
        // The used one is deleted while it bears the label, or before its usage, or before what uses it.
        (changed("1", |life| life.marked_in_use = true), [0, 0, 1, 0]),
        (changed("1", |life| life.marked = Some(13)), [0, 1, 1, 0]),
        (changed("1", |life| life.marked = Some(19)), [0, 1, 0, 0]),
        // The usage goes before what uses.
        (changed("u", |life| life.gone = Some(19)), [0, 1, 0, 0]),
    ] {
        let faults = judge(Story::CompositeDeleted, &lives);
        assert_eq!(counts(&faults), expected, "{faults:?}");
    }
}

#[test]
fn what_stays_is_neither_deleted_nor_missing() {
    let ready = json!({
        "spec": {"crossplane": {"resourceRefs": [{}, {}]}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "True"}]},
    });
    let mut lives = ended();
    lives.remove("u");
    for (uid, life) in &mut lives {
        if uid != "2" {
            (life.marked, life.gone) = (None, None);
        }
    }
    lives.get_mut("xr").unwrap().last = ready;
    assert!(judge(Story::ResourceRemoved, &lives).is_empty());
    lives.get_mut("1").unwrap().marked = Some(14);
    // It goes, and must not.
    assert_eq!(counts(&judge(Story::ResourceRemoved, &lives)), [1, 0, 0, 1]);
}

/// A composite resource of which `first` was changed, `second` removed, and `fourth` added.
fn composite_changed() -> Lives {
    let mut lives = ended();
    lives.remove("u");
    let fourth = life("ConfigMap", "story-0001/fourth", "xr", (12, None, None));
    lives.insert("4".to_owned(), fourth);
    for (uid, name, value) in [
        ("1", "first", CHANGED),
        ("3", "third", "third"),
        ("4", "fourth", "fourth"),
    ] {
        let object = lives.get_mut(uid).unwrap();
        (object.marked, object.gone) = (None, None);
        object.last = json!({
            "metadata": {"annotations": {"crossplane.io/composition-resource-name": name}}, "data": {"value": value},
        });
    }
    let xr = lives.get_mut("xr").unwrap();
    (xr.marked, xr.gone, xr.said) = (None, None, None);
    xr.referred.insert("ConfigMap fourth".to_owned(), 11);
    xr.last = json!({
        "spec": {"crossplane": {"resourceRefs": [{}, {}, {}]}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "True"}]},
    });
    lives
}

#[test]
fn what_is_changed_is_over_with_each_object_as_desired() {
    let whole = composite_changed();
    let faults = judge(Story::CompositeChanged, &whole);
    assert!(faults.is_empty(), "{faults:?}");
    let otherwise = |uid: &str, field: &str, value: Value| {
        let mut lives = whole.clone();
        *lives.get_mut(uid).unwrap().last.pointer_mut(field).unwrap() = value;
        counts(&judge(Story::CompositeChanged, &lives))
    };
    let name = "/metadata/annotations/crossplane.io~1composition-resource-name";
    assert_eq!(otherwise("1", "/data/value", json!("first")), [1, 0, 0, 0]);
    assert_eq!(otherwise("4", name, json!("third")), [1, 0, 0, 0]);
    let references = "/spec/crossplane/resourceRefs";
    assert_eq!(otherwise("xr", references, json!([{}, {}])), [1, 0, 0, 0]);
    let mut again = whole.clone();
    again.insert("5".to_owned(), again["4"].clone());
    assert_eq!(counts(&judge(Story::CompositeChanged, &again)), [1, 0, 0, 0]);
    let mut early = whole.clone();
    early.get_mut("4").unwrap().created = 10;
    assert_eq!(counts(&judge(Story::CompositeChanged, &early)), [0, 1, 0, 0]);
}

#[test]
fn a_successor_is_told_from_what_came_before_it() {
    let claim = |created, marked: Option<u64>, gone| Life {
        said: marked.map(|at| at + 1),
        ..life("Purchase", "story-0001/story-0001", "", (created, marked, gone))
    };
    let mut lives = Lives::from([
        ("old".to_owned(), claim(1, Some(10), Some(20))),
        ("new".to_owned(), claim(21, None, None)),
        (
            "a".to_owned(),
            life("ConfigMap", "story-0001/first", "xr", (3, Some(12), Some(12))),
        ),
        (
            "b".to_owned(),
            life("ConfigMap", "story-0001/first", "xr2", (25, None, None)),
        ),
    ]);
    assert!(judge(Story::ClaimRecreated, &lives).touched.is_empty());
    lives.get_mut("b").unwrap().marked = Some(26);
    assert_eq!(judge(Story::ClaimRecreated, &lives).touched.len(), 1);
    lives.get_mut("new").unwrap().marked = Some(27);
    assert_eq!(judge(Story::ClaimRecreated, &lives).touched.len(), 2);
}

#[test]
fn a_definition_goes_after_its_objects_and_their_kind() {
    let lives = |crd_marked, xr_gone| {
        Lives::from([
            (
                "d".to_owned(),
                Life {
                    said: Some(11),
                    ..life(
                        "CompositeResourceDefinition",
                        "/orders.story-0001.x",
                        "",
                        (1, Some(10), Some(40)),
                    )
                },
            ),
            (
                "c".to_owned(),
                life(
                    "CustomResourceDefinition",
                    "/orders.story-0001.x",
                    "d",
                    (2, Some(crd_marked), Some(32)),
                ),
            ),
            (
                "xr".to_owned(),
                Life {
                    said: Some(13),
                    ..life("Order", "story-0001/web", "", (3, Some(12), Some(xr_gone)))
                },
            ),
        ])
    };
    assert!(judge(Story::DefinitionDeleted, &lives(30, 20)).is_empty());
    assert_eq!(
        counts(&judge(Story::DefinitionDeleted, &lives(19, 20))),
        [0, 1, 0, 0]
    );
}
