//! The end of a claim, as `kubectl get` shows it: what waits for what, and in which order it goes.

use serde_json::Value;

use super::{
    compositions::{BUCKETS, Demo, QUEUE},
    kubernetes::Kubernetes,
    table::{Row, Table},
    until,
};
use crate::Failure;

/// The claim, and what it is composed of.
const CLAIMED: &str = "storages.example.org,xstorages.example.org";
const COMPOSED: &str =
    "usages.protection.crossplane.io,queues.sqs.aws.crossbridge.dev,buckets.s3.aws.crossbridge.dev";

const KIND: &str = "KIND:.kind";
const NAME: &str = "NAME:.metadata.name";
const READY: &str = r#"READY:.status.conditions[?(@.type=="Ready")].reason"#;
const DELETED: &str = "DELETED:.metadata.deletionTimestamp";
const IN_USE_BY: &str = r"IN-USE-BY:.metadata.annotations.crossbridge\.dev/in-use-by";
/// What a managed resource reports of its cloud's last answer.
const SYNCED: &str = r#"SYNCED:.status.conditions[?(@.type=="Synced")].message"#;
const WAITS_FOR: &str = r#"WAITS-FOR:.status.conditions[?(@.type=="Ready")].message"#;

impl Demo<'_> {
    /// A bucket that is not empty holds the claim, which reports it; a usage holds the queue, as long as the bucket exists.
    pub(super) async fn delete(&self, kubernetes: &Kubernetes) -> Result<(), Failure> {
        self.report
            .say("put an object into a bucket, and delete the claim");
        let object = format!("/{}/order.txt", BUCKETS[0]);
        self.aws.put(&object).await?;
        kubernetes.delete(&[&self.claim]).await?;
        let columns = [KIND, NAME, READY, DELETED, WAITS_FOR];
        self.show_when(kubernetes, CLAIMED, &columns, are_claims_deleting)
            .await?;
        let columns = [KIND, NAME, READY, DELETED, WAITS_FOR, SYNCED, IN_USE_BY];
        self.show_when(kubernetes, COMPOSED, &columns, is_queue_kept)
            .await?;
        self.expect_queue_in_use(kubernetes).await?;
        let blocked = self.blocked(kubernetes).await?;
        self.report.say(&format!("DeletionBlocked: {blocked}"));

        self.report.say("empty the bucket");
        self.aws.delete(&object).await?;
        // What goes last is read first: what is missing there is missing for what is read later.
        let kinds = format!("{CLAIMED},{COMPOSED}");
        until("all that was deleted is gone, in order", async || {
            let shown = kubernetes
                .table(&kinds, "default", &[KIND, NAME, DELETED])
                .await?;
            expect_order(&shown)?;
            Ok(shown.rows().next().is_none().then_some(()))
        })
        .await?;
        self.expect_aws(&[], &[]).await?;
        self.report
            .say("all is gone, and nothing was seen to go out of order; AWS has none of it");
        Ok(())
    }

    /// Prints what kubectl shows, once it is as it should be.
    async fn show_when(
        &self,
        kubernetes: &Kubernetes,
        kinds: &str,
        columns: &[&str],
        is_expected: fn(&Table) -> bool,
    ) -> Result<(), Failure> {
        let what = format!("kubectl get {kinds} shows what is Deleting, and what it waits for");
        let shown = until(&what, async || {
            let shown = kubernetes.table(kinds, "default", columns).await?;
            Ok(is_expected(&shown).then_some(shown))
        })
        .await?;
        self.report.say(&format!("{what}:"));
        for line in shown.lines() {
            println!("  {line}");
        }
        Ok(())
    }

    /// The message of the claim's `DeletionBlocked`, which names the bucket and the answer of AWS.
    async fn blocked(&self, kubernetes: &Kubernetes) -> Result<String, Failure> {
        let blocked = until("the claim reports what blocks its deletion", async || {
            let claim = kubernetes.get(&self.claim).await?;
            let claim = claim.ok_or_else(|| Failure::new("the claim went, though a bucket is not empty"))?;
            let conditions = claim["status"]["conditions"].as_array();
            let mut conditions = conditions.into_iter().flatten();
            let is_it = |one: &&Value| one["type"] == "DeletionBlocked" && one["status"] == "True";
            let blocked = conditions.find(is_it);
            Ok(blocked.and_then(|blocked| Some(blocked["message"].as_str()?.to_owned())))
        })
        .await?;
        for part in [BUCKETS[0], "BucketNotEmpty"] {
            if !blocked.contains(part) {
                return Err(Failure::new(format!("it does not name {part}: {blocked}")));
            }
        }
        Ok(blocked)
    }

    /// It still exists at AWS, and nobody can delete it.
    async fn expect_queue_in_use(&self, kubernetes: &Kubernetes) -> Result<(), Failure> {
        self.expect_aws(&BUCKETS[..1], &[QUEUE]).await?;
        self.report
            .say("the queue still exists, at AWS too; kubectl delete of it is refused:");
        match kubernetes.delete_named("queue", QUEUE).await {
            Ok(()) => Err(Failure::new("the queue can be deleted while the bucket uses it")),
            Err(refused) if refused.to_string().contains("in-use by Usage") => {
                println!("  {refused}");
                Ok(())
            }
            Err(failed) => Err(failed),
        }
    }
}

fn row<'a>(table: &'a Table, kind: &str, name: &str) -> Option<Row<'a>> {
    table
        .rows()
        .find(|row| row.cell("KIND") == kind && row.cell("NAME").starts_with(name))
}

fn is_deleting(row: Row<'_>) -> bool {
    row.cell("READY") == "Deleting" && !row.cell("DELETED").is_empty()
}

/// The claim and its composite resource, and what they wait for.
fn are_claims_deleting(table: &Table) -> bool {
    let shows = |kind: &str| {
        row(table, kind, "shop").is_some_and(|row| is_deleting(row) && !row.cell("WAITS-FOR").is_empty())
    };
    ["Storage", "XStorage"].into_iter().all(shows)
}

/// By the usage, which waits for the bucket that is not empty; the empty one is gone.
fn is_queue_kept(table: &Table) -> bool {
    let usage = row(table, "Usage", BUCKETS[0])
        .is_some_and(|usage| is_deleting(usage) && usage.cell("WAITS-FOR").contains(BUCKETS[0]));
    let bucket = row(table, "Bucket", BUCKETS[0])
        .is_some_and(|bucket| is_deleting(bucket) && bucket.cell("SYNCED").contains("BucketNotEmpty"));
    let queue = row(table, "Queue", QUEUE).is_some_and(|queue| {
        queue.cell("DELETED").is_empty() && queue.cell("IN-USE-BY").contains(BUCKETS[0])
    });
    usage && bucket && queue && row(table, "Bucket", BUCKETS[1]).is_none()
}

/// Each is there, and the queue untouched, as long as what goes before it.
fn expect_order(table: &Table) -> Result<(), Failure> {
    let exists = |kind: &str| row(table, kind, "").is_some();
    for (kind, first) in [
        ("Storage", "XStorage"),
        ("XStorage", "Usage"),
        ("XStorage", "Queue"),
        ("XStorage", "Bucket"),
        ("Usage", "Bucket"),
        ("Queue", "Bucket"),
    ] {
        if exists(first) && !exists(kind) {
            return Err(Failure::new(format!("the {kind} went before the {first}")));
        }
    }
    let queue = row(table, "Queue", QUEUE);
    if exists("Bucket") && queue.is_some_and(|queue| !queue.cell("DELETED").is_empty()) {
        return Err(Failure::new("the queue was deleted before the bucket went"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "KIND      NAME                          READY      DELETED  IN-USE-BY                   SYNCED          WAITS-FOR\n";
    const CLAIM: &str = "Storage   shop                          Deleting   now      <none>                      <none>          1 remains\n";
    const COMPOSITE: &str = "XStorage  shop-8x5fk                    Deleting   now      <none>                      <none>          1 remains\n";
    const USAGE: &str = "Usage     crossbridge-demo-shop-data-x  Deleting   now      <none>                      <none>          crossbridge-demo-shop-data\n";
    const KEPT: &str = "Queue     crossbridge-demo-shop-events  Available  <none>   crossbridge-demo-shop-data  <none>          <none>\n";
    const DELETED: &str = "Queue     crossbridge-demo-shop-events  Deleting   now      <none>                      <none>          <none>\n";
    const BUCKET: &str = "Bucket    crossbridge-demo-shop-data    Deleting   now      <none>                      BucketNotEmpty  <none>\n";

    fn table(rows: &[&str]) -> Table {
        Table::parse(&format!("{HEADER}{}", rows.concat()))
    }

    /// Whether it is expected as it is, and with one word less.
    fn judged(is_expected: fn(&Table) -> bool, rows: &[&str], word: &str) -> (bool, bool) {
        let without = rows.concat().replace(word, &" ".repeat(word.len()));
        (is_expected(&table(rows)), is_expected(&table(&[&without])))
    }

    #[test]
    fn a_deletion_that_does_not_show_as_deleting_is_not_accepted() {
        let claimed = [CLAIM, COMPOSITE];
        for word in ["Deleting", "1 remains", "now", "Storage   shop"] {
            assert_eq!(
                judged(are_claims_deleting, &claimed, word),
                (true, false),
                "{word}"
            );
        }
        let composed = [USAGE, KEPT, BUCKET];
        for word in ["Deleting", "BucketNotEmpty", "Queue", "Usage"] {
            assert_eq!(judged(is_queue_kept, &composed, word), (true, false), "{word}");
        }
        assert!(!is_queue_kept(&table(&[USAGE, DELETED, BUCKET])));
    }

    #[test]
    fn an_end_out_of_order_is_a_failure() {
        for good in [
            &[CLAIM, COMPOSITE, USAGE, KEPT, BUCKET][..],
            &[CLAIM, COMPOSITE, USAGE, DELETED],
            &[CLAIM, COMPOSITE, DELETED],
            &[CLAIM],
            &[],
        ] {
            assert!(expect_order(&table(good)).is_ok(), "{good:?}");
        }
        for bad in [
            &[CLAIM, COMPOSITE, USAGE, DELETED, BUCKET][..],
            &[CLAIM, COMPOSITE, USAGE, BUCKET],
            &[CLAIM, COMPOSITE, KEPT, BUCKET],
            &[CLAIM, KEPT],
            &[COMPOSITE],
        ] {
            assert!(expect_order(&table(bad)).is_err(), "{bad:?}");
        }
    }
}
