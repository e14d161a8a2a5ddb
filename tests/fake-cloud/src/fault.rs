//! What may become of one call.

use serde::{Deserialize, Serialize};

/// A call of the contract that reaches the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rpc {
    /// `Observe`, which reads.
    Observe,
    /// `Create`, with a token.
    Create,
    /// `Update`, in place.
    Update,
    /// `Delete`, of what may be absent.
    Delete,
    /// `PollOperation`, by handle.
    Poll,
    /// `CheckConfig`, without a resource.
    CheckConfig,
}

/// What becomes of one call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FaultOutcome {
    /// It is served as without a fault.
    #[default]
    Serve,
    /// It has no effect, and is never answered.
    Hang,
    /// It takes effect, and is never answered.
    LoseAnswer,
    /// It takes effect so many milliseconds later, but not after its deadline and the kind's late margin, and is never answered.
    Late(u32),
    /// It takes effect at once, and is answered so many milliseconds later.
    Slow(u32),
    /// The cloud rejects it for its rate limit; it may be tried again after so many milliseconds.
    Throttle(u32),
    /// The cloud answers a 5xx, and nothing happened.
    Unavailable,
    /// The cloud answers a 5xx, and it happened all the same.
    UnavailableAfter,
    /// Observe reports absence. Other calls are served.
    Lie,
    /// The plugin dies before it asks the cloud.
    CrashBefore,
    /// The plugin dies when the cloud has done it.
    CrashAfter,
    /// The plugin answers with a gRPC error, and nothing happened.
    Status,
    /// The plugin answers with a gRPC error, and it happened all the same.
    StatusAfter,
    /// A creation that began is going to fail, and leave nothing behind. Short ones are rejected.
    Doom,
}

/// A fault outcome that waits for its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// The method whose calls it waits for.
    pub rpc: Rpc,
    /// On whose behalf: `metadata.name` of the object; `None`: of any object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What becomes of it.
    pub fate: FaultOutcome,
    /// The number of calls that it meets.
    #[serde(default = "once")]
    pub times: u32,
    /// After so many calls that it spares.
    #[serde(default)]
    pub after: u32,
}

fn once() -> u32 {
    1
}

impl Fault {
    /// For one call, of any object.
    pub fn once(rpc: Rpc, fate: FaultOutcome) -> Self {
        Self {
            rpc,
            owner: None,
            fate,
            times: 1,
            after: 0,
        }
    }

    /// Sets the number of calls that it meets.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }

    /// Whether this call is its own.
    fn meets(&self, rpc: Rpc, owner: &str) -> bool {
        self.rpc == rpc && self.owner.as_ref().is_none_or(|wanted| wanted == owner)
    }
}

/// Faults that wait, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault behind those that wait.
    pub fn push(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// None waits any more.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The outcome of a call: that of the oldest fault that waits for it.
    pub fn take(&mut self, rpc: Rpc, owner: &str) -> FaultOutcome {
        let Some(at) = self.0.iter().position(|fault| fault.meets(rpc, owner)) else {
            return FaultOutcome::Serve;
        };
        let fault = &mut self.0[at];
        if fault.after > 0 {
            fault.after -= 1;
            return FaultOutcome::Serve;
        }
        let fate = fault.fate;
        fault.times = fault.times.saturating_sub(1);
        if fault.times == 0 {
            self.0.remove(at);
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultOutcome, Faults, Rpc};

    #[test]
    fn a_fault_waits_for_its_call() {
        let mut faults = Faults::default();
        faults.push(Fault {
            owner: Some("one".to_owned()),
            after: 1,
            ..Fault::once(Rpc::Create, FaultOutcome::Hang).times(2)
        });
        let fates = [
            faults.take(Rpc::Observe, "one"),
            faults.take(Rpc::Create, "two"),
            faults.take(Rpc::Create, "one"),
            faults.take(Rpc::Create, "one"),
            faults.take(Rpc::Create, "one"),
            faults.take(Rpc::Create, "one"),
        ];
        assert_eq!(
            fates,
            [
                FaultOutcome::Serve,
                FaultOutcome::Serve,
                FaultOutcome::Serve,
                FaultOutcome::Hang,
                FaultOutcome::Hang,
                FaultOutcome::Serve
            ]
        );
    }
}
