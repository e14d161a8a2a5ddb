use super::*;

fn tags(pairs: &[(&str, &str)]) -> Tags {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn users_see_only_their_own_tags() {
    let observed: ObservedTags = [("a", "1"), ("aws:x", "2"), (MARKER_TAG, "m"), (REQUEST_TAG, "r")]
        .into_iter()
        .collect();
    assert_eq!(observed.of_user(), tags(&[("a", "1")]));
    assert_eq!(observed.marker(), "m");
}

#[test]
fn a_change_sets_missing_tags_and_removes_undesired_ones() {
    let observed: ObservedTags = [("keep", "1"), ("edit", "1"), ("drop", "1"), ("aws:x", "2")]
        .into_iter()
        .collect();
    let desired = tags(&[("keep", "1"), ("edit", "2"), ("new", "3")]);
    let change = observed.change(Some(&desired), "m");
    assert_eq!(
        change.set,
        tags(&[("edit", "2"), ("new", "3"), (MARKER_TAG, "m")])
    );
    assert_eq!(change.remove, ["drop"]);
}

#[test]
fn without_desired_tags_only_the_marker_is_set() {
    let observed: ObservedTags = [("a", "1"), (MARKER_TAG, "former")].into_iter().collect();
    let change = observed.change(None, "m");
    assert_eq!(change.set, tags(&[(MARKER_TAG, "m")]));
    assert!(change.remove.is_empty());
    let settled: ObservedTags = [(MARKER_TAG, "m")].into_iter().collect();
    assert!(settled.change(None, "m").is_empty());
}

#[test]
fn reserved_tags_are_violations() {
    let mut violations = Violations::default();
    check(
        Some(&tags(&[
            ("ok", "1"),
            ("aws:x", "1"),
            (MARKER_TAG, "1"),
            ("", "1"),
        ])),
        &mut violations,
    );
    let failure = violations.into_result().expect_err("three are wrong");
    let text = failure.to_string();
    for path in ["/tags/aws:x", "/tags/crossbridge.dev~1owner", "/tags/:"] {
        assert!(text.contains(path), "{path} in {text}");
    }
}
