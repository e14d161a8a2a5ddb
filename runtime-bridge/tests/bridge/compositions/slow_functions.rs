//! Functions that take their time: what is edited meanwhile, and what does not wait for them.

use std::time::Duration;

use bridge_core::function::RunRequest;
use fake_function::FakeFunction;
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    admin::Bridge,
    cluster::{Cluster, merge},
    compositions::{
        Function, composed, composition, create, crossplane, define, order, orders, ready, values,
    },
};

/// Less than a call may take, and than a run of it.
const LIMIT: Duration = Duration::from_secs(45);
/// How long a slow function takes. No test waits for this to end: it waits for the answers.
const SLOW: Duration = Duration::from_secs(3);
/// How many calls of one function are under way at once.
const PLACES: usize = 16;

async fn until(what: &str, function: &FakeFunction, holds: impl Fn(&FakeFunction) -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds(function) {
        let (waiting, received) = (function.waiting(), sizes(function));
        assert!(Instant::now() < end, "{what}: {waiting} wait of {received:?}");
        sleep(Duration::from_millis(10)).await;
    }
}

fn name_of(request: &RunRequest) -> &str {
    let name = &request.observed.composite.object["metadata"]["name"];
    name.as_str().unwrap()
}

/// Sizes of the orders of all calls so far.
fn sizes(function: &FakeFunction) -> Vec<u64> {
    let received = function.received();
    let sizes = received
        .iter()
        .map(|call| &call.request.observed.composite.object["spec"]["size"]);
    sizes.map(|size| size.as_u64().unwrap()).collect()
}

fn compositions(cluster: &Cluster) -> Api<DynamicObject> {
    crossplane(cluster, "v1", "Composition")
}

#[tokio::test]
async fn an_edit_abandons_the_run_that_goes_on() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions", "--function", &flag]).await;
    define(&cluster).await;
    let of_size = |size: u64| {
        json!({
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": size.to_string()}},
            "when": {"equals": {"path": "/spec/size", "value": size}},
            "ready": "always",
        })
    };
    let mut pipeline = composition()["spec"]["pipeline"].clone();
    let resources = (1..=4).map(|size| (format!("of-{size}"), of_size(size)));
    pipeline[0]["input"]["resources"] = resources.collect::<serde_json::Map<_, _>>().into();
    let change = json!({"spec": {"pipeline": pipeline}});
    merge(&compositions(&cluster), "orders", change).await.unwrap();

    let fake = &function.fake;
    fake.hold(|_| true);
    create(&orders(&cluster), order("a", 1)).await;
    for size in 1..=4 {
        if size > 1 {
            let edit = json!({"spec": {"size": size}});
            merge(&orders(&cluster), "a", edit).await.unwrap();
        }
        // The call of the run before is given up, though it would have been answered.
        until("another run alone", fake, |fake| {
            sizes(fake).last() == Some(&size) && fake.waiting() == 1
        })
        .await;
    }
    assert_eq!(values(&composed(&cluster).await), [""; 0]);
    fake.release();
    ready(&cluster, "a").await;
    assert_eq!(values(&composed(&cluster).await), ["4"]);
    let created = "composed_writes_total{kind=\"Order.shop.example.org\",write=\"create\"} 1\n";
    bridge.until("/metrics", |_, text| text.contains(created)).await;
    let sizes = sizes(fake);
    assert!(sizes.is_sorted(), "{sizes:?}");
    assert_eq!(bridge.stop().await, Some(0));
}

/// An order of the composition of this name.
fn order_of(composition: &str, name: &str) -> Value {
    let mut order = order(name, 2);
    order["spec"]["crossplane"] = json!({"compositionRef": {"name": composition}});
    order
}

#[tokio::test]
async fn a_slow_function_is_waited_for_by_its_own_orders_alone() {
    let (cluster, slow, other) = (Cluster::own().await, Function::start(), Function::start());
    let (flag, other) = (slow.flag(), format!("other={}", other.endpoint()));
    let flags = ["--compositions", "--function", &flag, "--function", &other];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    define(&cluster).await;
    let mut of_other = composition();
    of_other["metadata"]["name"] = "others".into();
    of_other["spec"]["pipeline"][0]["functionRef"]["name"] = "other".into();
    create(&compositions(&cluster), of_other).await;

    let fake = &slow.fake;
    fake.hold(|request| name_of(request).starts_with("slow"));
    let orders = orders(&cluster);
    let wait: Vec<String> = (0..PLACES + 4).map(|number| format!("slow-{number}")).collect();
    create(&orders, order_of("orders", &wait[0])).await;
    until("a slow call", fake, |fake| fake.waiting() == 1).await;
    create(&orders, order_of("orders", "quick")).await;
    ready(&cluster, "quick").await;

    for name in &wait[1..] {
        create(&orders, order_of("orders", name)).await;
    }
    until("as many calls as may be", fake, |fake| fake.waiting() == PLACES).await;
    create(&orders, order_of("others", "other")).await;
    ready(&cluster, "other").await;
    assert_eq!(fake.waiting(), PLACES);
    sleep(SLOW).await;
    fake.release();
    for name in &wait {
        ready(&cluster, name).await;
    }
    assert_eq!(composed(&cluster).await.len(), 2 * (wait.len() + 2));
    assert_eq!(bridge.stop().await, Some(0));
}
