//! Builds the plugins side by side, and what sessions by hand need, so that tests find them.

use std::process::ExitCode;

use bridge_languages::{BuildError, Function, Language, grpcurl};

#[tokio::main]
async fn main() -> ExitCode {
    match prepare().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn prepare() -> Result<(), BuildError> {
    let [python, go, typescript] = Language::ALL.map(|language| async move {
        let command = language.example().await?;
        println!("{}: {command}", language.name());
        Ok::<_, BuildError>(())
    });
    // grpcurl after Go: both keep all cores busy.
    let go = async {
        go.await?;
        grpcurl().await
    };
    let functions = async {
        for function in Function::ALL {
            function.command().await?;
            println!("{}: is installed", function.name());
        }
        Ok::<_, BuildError>(())
    };
    tokio::try_join!(python, go, typescript, functions)?;
    Ok(())
}
