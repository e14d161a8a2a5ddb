//! The function as a process. With the flag `--stdin=hold` it ends when its standard input does. Prints one line when it listens.

use std::{
    error::Error,
    io::Read,
    time::{SystemTime, UNIX_EPOCH},
};

use clap::Parser;
use fake_function::{FakeFunction, Version};
use tokio::{
    net::{TcpListener, UnixListener},
    signal::unix::{SignalKind, signal},
};
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::{Request, service::InterceptorLayer, transport::Server};

#[derive(Parser)]
struct Arguments {
    /// Where it listens: `unix:///path` or `127.0.0.1:port`; port 0: any.
    #[arg(long)]
    address: String,
    /// Version of the contract that it serves.
    #[arg(long, default_value = "v1")]
    serve: Version,
    /// `hold`: it ends with its standard input.
    #[arg(long)]
    stdin: Option<String>,
    /// Prints `called MICROSECONDS`, since 1970, for each call.
    #[arg(long)]
    print_calls: bool,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    if arguments.stdin.as_deref() == Some("hold") {
        std::thread::spawn(|| {
            // The end of the input, or an error, both mean that the parent has ended.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            std::process::exit(3);
        });
    }
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        terminate.recv().await;
    };
    let print_calls = arguments.print_calls;
    let counting = move |request: Request<()>| {
        if print_calls {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            println!("called {}", now.as_micros());
        }
        Ok(request)
    };
    let server = Server::builder()
        .layer(InterceptorLayer::new(counting))
        .add_routes(FakeFunction::default().routes(arguments.serve));
    if let Some(path) = arguments.address.strip_prefix("unix://") {
        // One that died left its socket behind.
        let _ = std::fs::remove_file(path);
        let incoming = UnixListenerStream::new(UnixListener::bind(path)?);
        println!("listening at {}", arguments.address);
        server.serve_with_incoming_shutdown(incoming, stop).await?;
    } else {
        let listener = TcpListener::bind(&arguments.address).await?;
        println!("listening at {}", listener.local_addr()?);
        let incoming = TcpListenerStream::new(listener);
        server.serve_with_incoming_shutdown(incoming, stop).await?;
    }
    Ok(())
}
