//! Commands of child processes, as flags give them.

use std::{env, path::Path};

use bridge_control_plane::process::Spawn;

/// Stands in a function's command for where it is to listen, as gRPC writes it.
const ADDRESS: &str = "{address}";
/// Stands there for the path of its socket alone.
const SOCKET: &str = "{socket}";

/// A program and its arguments. Without a shell between, which would take signals meant for the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildCommand {
    program: String,
    arguments: Vec<String>,
}

/// A composition function: what compositions call it, and what runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCommand {
    pub name: String,
    command: ChildCommand,
}

impl ChildCommand {
    /// In words as in a shell.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = shlex::split(text).ok_or("a quote is not closed")?.into_iter();
        let program = words.next().ok_or("it names no program")?;
        Ok(Self {
            program,
            arguments: words.collect(),
        })
    }

    /// There is such a program: found now, and not when a control plane has been started for it.
    pub fn check(&self) -> Result<(), String> {
        let path = Path::new(&self.program);
        let exists = if self.program.contains('/') {
            path.is_file()
        } else {
            let folders = env::var_os("PATH").unwrap_or_default();
            env::split_paths(&folders).any(|folder| folder.join(path).is_file())
        };
        if exists {
            Ok(())
        } else {
            Err(format!("there is no program {:?}", self.program))
        }
    }

    /// What starts it.
    pub fn spawn(&self) -> Spawn {
        Spawn::new(&self.program).args(&self.arguments)
    }
}

impl FunctionCommand {
    /// `NAME=COMMAND`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, command) = text
            .split_once('=')
            .filter(|(name, _)| !name.is_empty() && !name.contains(char::is_whitespace))
            .ok_or("write NAME='COMMAND', where NAME is what compositions call the function")?;
        Ok(Self {
            name: name.to_owned(),
            command: ChildCommand::parse(command)?,
        })
    }

    /// What starts it so that it listens on this socket: by its arguments, or by its environment.
    pub fn spawn(&self, socket: &Path) -> Spawn {
        let ChildCommand { program, arguments } = &self.command;
        let (address, path) = (endpoint(socket), socket.display().to_string());
        let arguments = arguments
            .iter()
            .map(|argument| argument.replace(ADDRESS, &address).replace(SOCKET, &path));
        Spawn::new(program)
            .args(arguments)
            .env("FUNCTION_ADDRESS", &address)
            .env("FUNCTION_SOCKET", &path)
    }
}

/// As flags of the bridge and gRPC libraries name a socket.
pub fn endpoint(socket: &Path) -> String {
    format!("unix://{}", socket.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_into_words_like_a_shell() {
        let command = ChildCommand::parse("sh -c 'echo a b'").unwrap();
        assert_eq!(
            (command.program.as_str(), command.arguments.as_slice()),
            ("sh", ["-c".to_owned(), "echo a b".to_owned()].as_slice())
        );
        assert_eq!(
            ChildCommand::parse("a 'b"),
            Err("a quote is not closed".to_owned())
        );
        assert_eq!(ChildCommand::parse(" "), Err("it names no program".to_owned()));
    }

    #[test]
    fn a_function_command_is_named_before_the_first_equals_sign() {
        let function = FunctionCommand::parse("f=python main.py --address={address}").unwrap();
        assert_eq!(function.name, "f");
        assert_eq!(function.command.arguments, ["main.py", "--address={address}"]);
        for text in ["python main.py", "=true", "python main.py --insecure=true"] {
            let error = FunctionCommand::parse(text).unwrap_err();
            assert!(error.starts_with("write NAME='COMMAND'"), "{text}: {error}");
        }
        assert_eq!(
            FunctionCommand::parse("f="),
            Err("it names no program".to_owned())
        );
    }

    #[tokio::test]
    async fn a_function_gets_its_socket_by_argument_and_environment() {
        let (send, lines) = std::sync::mpsc::channel();
        let echo = r#"f=sh -c 'echo "$@"; echo $FUNCTION_ADDRESS $FUNCTION_SOCKET' - --address {address} --at={socket}"#;
        let process = FunctionCommand::parse(echo)
            .unwrap()
            .spawn(Path::new("/run/f.sock"))
            .stdout(bridge_control_plane::process::Output::lines(move |line| {
                drop(send.send(line.to_owned()));
            }))
            .spawn()
            .unwrap();
        assert!(process.wait().await.success());
        let said: Vec<String> = lines.iter().collect();
        assert_eq!(
            said,
            [
                "--address unix:///run/f.sock --at=/run/f.sock",
                "unix:///run/f.sock /run/f.sock"
            ]
        );
    }
}
