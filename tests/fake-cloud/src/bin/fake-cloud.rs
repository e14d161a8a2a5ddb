//! The cloud as a process. `fake-cloud [ADDRESS]` (default `127.0.0.1:0`) prints its URL on standard output, and ends when its
//! standard input does: with the process that started it.

use std::io::{Read, Write};

use fake_cloud::process::serve;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    std::thread::spawn(|| {
        // The end of the input, or an error, both mean that the parent has ended.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(3);
    });
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);
    std::io::stdout().flush()?;
    serve(listener).await
}
