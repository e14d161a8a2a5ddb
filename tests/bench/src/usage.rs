//! What the kernel reports of a process.

use std::fs;

use bridge_control_plane::process::Process;

/// `/proc/PID/stat` counts in these.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time of all threads that the process has had, in user and kernel mode, in seconds.
pub(crate) fn busy_seconds(process: &Process) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id())).expect("it runs, on Linux");
    let (_, after_name) = stat.rsplit_once(')').expect("a name in parentheses");
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<u32>().ok());
    [11, 12].into_iter().filter_map(ticks).map(f64::from).sum::<f64>() / TICKS_PER_SECOND
}

/// `VmRSS` of a process.
pub(crate) fn resident_kb(process: &Process) -> f64 {
    let status =
        fs::read_to_string(format!("/proc/{}/status", process.id())).expect("the process runs, on Linux");
    let kb = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|kb| kb.trim().parse::<u32>().ok())
        .expect("VmRSS in kB");
    f64::from(kb)
}

/// Which part of the machine's time its processors are busy with, of all processes, since boot: two of these make a share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Busy {
    busy: f64,
    all: f64,
}

impl Busy {
    pub(crate) fn now() -> Self {
        let stat = fs::read_to_string("/proc/stat").expect("it is Linux");
        let line = stat.lines().next().unwrap_or_default();
        let ticks: Vec<f64> = line
            .split_whitespace()
            .skip(1)
            .filter_map(|one| one.parse().ok())
            .collect();
        let all: f64 = ticks.iter().take(8).sum();
        let idle: f64 = ticks.iter().skip(3).take(2).sum();
        Self {
            busy: all - idle,
            all,
        }
    }

    /// From then until now, from 0 to 1.
    pub(crate) fn share_since(self) -> f64 {
        let now = Self::now();
        (now.busy - self.busy) / (now.all - self.all).max(1.0)
    }
}

/// Of the last 1, 5 and 15 minutes: processes that run or want to.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// The processor, how many of it, and the memory.
pub(crate) fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let processor = field(&read("/proc/cpuinfo"), "model name").unwrap_or_else(|| "unknown".to_owned());
    let memory = field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cores} cores of {processor}, {memory}, Linux {}", kernel.trim())
}
