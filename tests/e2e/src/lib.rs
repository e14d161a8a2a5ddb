//! Scenarios on the real control plane with real processes.
