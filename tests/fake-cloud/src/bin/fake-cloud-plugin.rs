//! The plugin as a process: `FAKE_CLOUD` is the cloud's URL, `PROVIDER_PLUGIN_ENDPOINT` where it serves (`unix:///path` or
//! `http://127.0.0.1:port`), `FAKE_CLOUD_CALL_SECONDS` how long a call may take, `FAKE_CLOUD_KINDS` the kinds it publishes, separated by commas. With `FAKE_CLOUD_PLUGIN_STDIN=hold` it ends when its standard input does.

use std::{env, error::Error, io::Read, sync::Arc, time::Duration};

use fake_cloud::{link::real_time, plugin::Plugin, remote::Remote};
use tokio::{
    net::UnixListener,
    signal::unix::{SignalKind, signal},
};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    if env::var("FAKE_CLOUD_PLUGIN_STDIN").as_deref() == Ok("hold") {
        std::thread::spawn(|| {
            // The end of the input, or an error, both mean that the parent has ended.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            std::process::exit(3);
        });
    }
    let cloud = Remote::new(env::var("FAKE_CLOUD")?);
    let endpoint = env::var("PROVIDER_PLUGIN_ENDPOINT")?;
    // As after kill -9: no destructor runs, nothing is flushed.
    let die = Arc::new(|| std::process::abort());
    let instance = uuid::Uuid::new_v4().to_string();
    let plugin = Plugin::new(Arc::new(cloud), real_time(), die, instance);
    let plugin = match env::var("FAKE_CLOUD_KINDS") {
        Ok(kinds) => plugin.only(&kinds.split(',').collect::<Vec<_>>()),
        Err(_) => plugin,
    };
    let plugin = match env::var("FAKE_CLOUD_CALL_SECONDS") {
        Ok(seconds) => plugin.with_call_timeout(Duration::from_secs(seconds.parse()?)),
        Err(_) => plugin,
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let stop = async move {
        terminate.recv().await;
    };
    let server = Server::builder().add_routes(plugin.routes());
    if let Some(path) = endpoint.strip_prefix("unix://") {
        // One that died left its socket behind.
        let _ = std::fs::remove_file(path);
        let incoming = UnixListenerStream::new(UnixListener::bind(path)?);
        server.serve_with_incoming_shutdown(incoming, stop).await?;
    } else {
        let address = endpoint.trim_start_matches("http://").parse()?;
        server.serve_with_shutdown(address, stop).await?;
    }
    Ok(())
}
