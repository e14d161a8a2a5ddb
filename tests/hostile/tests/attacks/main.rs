//! Attacks of one plugin, one tenant, or one stranger: the good ones beside them are served as before.

mod answers;
mod handshake;
mod hanging;
mod memory;
mod outside;
mod tenants;
mod together;
