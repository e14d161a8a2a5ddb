//! The programs that the bridge calls, each on a socket of its own.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::Spawn;

use super::{
    DevArgs,
    command::{ChildCommand, FunctionCommand, endpoint},
};

/// The environment variable in which a plugin finds its endpoint.
const ENDPOINT_VARIABLE: &str = "PROVIDER_PLUGIN_ENDPOINT";

/// Plugins and functions.
pub struct Children<'a> {
    plugins: Vec<Child<'a>>,
    functions: Vec<Child<'a>>,
}

/// One of them.
pub struct Child<'a> {
    /// As the output names it.
    pub name: String,
    socket: PathBuf,
    command: Command<'a>,
}

enum Command<'a> {
    Plugin(&'a ChildCommand),
    Function(&'a FunctionCommand),
}

impl<'a> Children<'a> {
    /// Those of the flags, with sockets in this folder.
    pub fn new(args: &'a DevArgs, folder: &Path) -> Self {
        let only = args.plugin_command.len() == 1;
        let plugins = args
            .plugin_command
            .iter()
            .zip(1..)
            .map(|(command, number)| Child {
                name: if only {
                    "plugin".to_owned()
                } else {
                    format!("plugin {number}")
                },
                socket: folder.join(format!("plugin-{number}.sock")),
                command: Command::Plugin(command),
            });
        // By number: a function's name may be longer than a socket's path.
        let functions = args
            .function_command
            .iter()
            .zip(1..)
            .map(|(function, number)| Child {
                name: format!("function {}", function.name),
                socket: folder.join(format!("function-{number}.sock")),
                command: Command::Function(function),
            });
        Self {
            plugins: plugins.collect(),
            functions: functions.collect(),
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Child<'a>> {
        self.plugins.iter().chain(&self.functions)
    }

    /// How the bridge is told of them.
    pub fn serve_flags(&self, compositions: bool) -> Vec<String> {
        let mut flags = Vec::new();
        if compositions {
            flags.push("--compositions".to_owned());
        }
        for child in self.all() {
            let at = endpoint(&child.socket);
            flags.extend(match child.command {
                Command::Plugin(_) => ["--plugin".to_owned(), at],
                Command::Function(function) => ["--function".to_owned(), format!("{}={at}", function.name)],
            });
        }
        flags
    }
}

impl Child<'_> {
    /// What starts it.
    pub fn spawn(&self) -> Spawn {
        // Left by one that was killed; not every language's server replaces it.
        let _ = fs::remove_file(&self.socket);
        match self.command {
            Command::Plugin(command) => command.spawn().env(ENDPOINT_VARIABLE, endpoint(&self.socket)),
            Command::Function(function) => function.spawn(&self.socket),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: DevArgs,
    }

    fn line(flags: &[&str]) -> DevArgs {
        let words = ["dev"].iter().chain(flags);
        Line::try_parse_from(words).map(|line| line.args).unwrap()
    }

    #[test]
    fn the_bridge_is_told_where_each_child_listens() {
        let args = line(&[
            "--compositions",
            "--plugin-command",
            "true",
            "--function-command",
            "f=b",
            "--plugin-command",
            "true",
        ]);
        let children = Children::new(&args, Path::new("/d"));
        let names: Vec<&str> = children.all().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["plugin 1", "plugin 2", "function f"]);
        assert_eq!(
            children.serve_flags(args.compositions),
            [
                "--compositions",
                "--plugin",
                "unix:///d/plugin-1.sock",
                "--plugin",
                "unix:///d/plugin-2.sock",
                "--function",
                "f=unix:///d/function-1.sock"
            ]
        );
    }

    #[test]
    fn flags_that_serve_nothing_or_contradict_are_rejected() {
        let why = |flags: &[&str]| line(flags).check().unwrap_err();
        assert!(why(&[]).starts_with("nothing to serve"));
        let function = ["--function-command", "f=true"];
        let plugin = ["--plugin-command", "true"];
        assert_eq!(
            why(&[plugin, function].concat()),
            "--function-command f=… is for --compositions, which is not given"
        );
        let twice = [&["--compositions"][..], &function, &function].concat();
        assert_eq!(why(&twice), "--function-command says twice what runs \"f\"");
        assert_eq!(line(&["--compositions"]).check(), Ok(()));
        assert_eq!(line(&plugin).check(), Ok(()));
    }
}
