use super::*;

fn tags(pairs: &[(&str, &str)]) -> Tags {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn users_see_their_own_tags_only() {
    let found: FoundTags = [("a", "1"), ("aws:x", "2"), (MARKER_TAG, "m"), (REQUEST_TAG, "r")]
        .into_iter()
        .collect();
    assert_eq!(found.of_user(), tags(&[("a", "1")]));
    assert_eq!(found.marker(), "m");
}

#[test]
fn a_change_sets_what_is_missing_and_removes_what_nobody_wished_for() {
    let found: FoundTags = [("keep", "1"), ("edit", "1"), ("drop", "1"), ("aws:x", "2")]
        .into_iter()
        .collect();
    let wish = tags(&[("keep", "1"), ("edit", "2"), ("new", "3")]);
    let change = found.change(Some(&wish), "m");
    assert_eq!(
        change.set,
        tags(&[("edit", "2"), ("new", "3"), (MARKER_TAG, "m")])
    );
    assert_eq!(change.remove, ["drop"]);
}

#[test]
fn without_a_wish_only_the_marker_is_put() {
    let found: FoundTags = [("a", "1"), (MARKER_TAG, "former")].into_iter().collect();
    let change = found.change(None, "m");
    assert_eq!(change.set, tags(&[(MARKER_TAG, "m")]));
    assert!(change.remove.is_empty());
    let settled: FoundTags = [(MARKER_TAG, "m")].into_iter().collect();
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
