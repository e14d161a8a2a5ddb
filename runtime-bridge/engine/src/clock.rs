//! The time, as an object: a simulation brings its own.

use std::time::Duration;

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;

    /// Goes on steadily, whatever happens to the process or the machine, and is never set. From where it counts means nothing.
    fn ticks(&self) -> Duration {
        Duration::try_from(self.now().duration_since(Timestamp::UNIX_EPOCH)).unwrap_or_default()
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn ticks(&self) -> Duration {
        // The monotonic clock of Linux stands still while the machine sleeps; this one does not.
        #[cfg(target_os = "linux")]
        let clock = rustix::time::ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let clock = rustix::time::ClockId::Monotonic;
        Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
    }
}
