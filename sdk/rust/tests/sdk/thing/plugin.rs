//! The tests' plugin as a process of its own. It ends with its parent: when no process holds its standard input any more.

#[path = "mod.rs"]
mod thing;

use std::io::Read;

use crossbridge_sdk::ServeError;

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    std::thread::spawn(|| {
        // The end of the input, or an error, both mean that the parent has ended.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(3);
    });
    thing::plugin().serve().await
}
