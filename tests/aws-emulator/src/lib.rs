//! moto behind a proxy that enforces what AWS does, counts calls and injects faults.
