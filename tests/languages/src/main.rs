//! Builds the plugins side by side, and what sessions by hand need, so that tests find them.

use bridge_languages::{BuildError, Language, grpcurl};

#[tokio::main]
async fn main() -> Result<(), BuildError> {
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
    tokio::try_join!(python, go, typescript)?;
    Ok(())
}
