//! Ends what is busy without end: virtual time does not pass then, and no limit of it counts.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

/// Processor time of its thread. A seed or a scenario takes up to two minutes of it on a slow machine; how long that is on the clock depends on
/// what runs beside it.
const ENDS_WITHIN: Duration = Duration::from_mins(5);
/// Time by the clock, of what waits without end and uses no processor time.
const WAITS_WITHIN: Duration = Duration::from_mins(30);
/// How often it is looked at.
const CHECKED_EVERY: Duration = Duration::from_secs(1);

/// Counts until it is dropped.
pub(crate) struct Deadline {
    _ended: Sender<()>,
}

impl Deadline {
    /// `what` is busy from now on, on this thread.
    pub(crate) fn begin(what: String) -> Self {
        let (ended, wait) = channel::<()>();
        let own = thread_of_caller();
        let begun = own.as_deref().and_then(processor_time).unwrap_or_default();
        let since = Instant::now();
        thread::spawn(move || {
            while wait.recv_timeout(CHECKED_EVERY) == Err(RecvTimeoutError::Timeout) {
                let now = own.as_deref().and_then(processor_time).unwrap_or_default();
                if now.saturating_sub(begun) > ENDS_WITHIN || since.elapsed() > WAITS_WITHIN {
                    // What a test prints is kept until its end, which does not come.
                    let _ = writeln!(
                        io::stderr(),
                        "{what} does not end: a task is busy, or waits, without end"
                    );
                    process::exit(1);
                }
            }
        });
        Self { _ended: ended }
    }
}

/// The kernel's folder of the calling thread; none where there is no `/proc`.
fn thread_of_caller() -> Option<PathBuf> {
    Some(Path::new("/proc").join(fs::read_link("/proc/thread-self").ok()?))
}

/// What a thread has used, by itself and in the kernel: proc(5), `utime` and `stime` of `/proc/PID/stat`, in hundredths of a second.
fn processor_time(thread: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(thread.join("stat")).ok()?;
    // The name before it may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11);
    let ticks: u64 = times.next()?.parse::<u64>().ok()? + times.next()?.parse::<u64>().ok()?;
    Some(Duration::from_millis(ticks * 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_that_of_one_thread() {
        let own = thread_of_caller().unwrap();
        let before = processor_time(&own).unwrap();
        let busy = thread::spawn({
            let own = own.clone();
            move || {
                let other = thread_of_caller().unwrap();
                assert_ne!(own, other);
                let begun = Instant::now();
                while processor_time(&other).unwrap() < Duration::from_millis(300) {
                    assert!(begun.elapsed() < Duration::from_mins(1), "it is not counted");
                }
            }
        });
        busy.join().unwrap();
        let waited = processor_time(&own).unwrap().saturating_sub(before);
        assert!(waited < Duration::from_millis(300), "{waited:?}");
    }
}
