//! The help of the command line, as `--help` prints it.

use std::process::Command;

use crate::process::binary;

/// The help of a command.
pub struct Help {
    /// The command with the program's name, such as `svctrack token rotate`.
    pub command: String,
    pub text: String,
    /// Whether it has commands below it.
    pub is_group: bool,
}

impl Help {
    /// What the command does, in a line.
    pub fn about(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    /// The lines between that one and the usage.
    pub fn details(&self) -> Vec<&str> {
        let lines = self.text.lines().skip(1).take_while(|line| !line.starts_with("Usage:"));
        lines.filter(|line| !line.is_empty()).collect()
    }

    /// The command lines that it shows as examples.
    pub fn examples(&self) -> Vec<&str> {
        let lines = self.text.lines().skip_while(|line| !line.starts_with("Example"));
        lines.filter(|line| line.starts_with("  ")).map(str::trim).collect()
    }
}

/// The help of each command.
pub fn all() -> Vec<Help> {
    below(&[])
}

/// The help of a command and of those below it.
fn below(command: &[&str]) -> Vec<Help> {
    let output = Command::new(binary()).args(command).arg("--help").output().unwrap();
    assert!(output.status.success(), "{command:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let listed = text.split_once("\nCommands:\n").map(|(_, listed)| listed);
    let lines = listed.unwrap_or_default().lines().take_while(|line| !line.is_empty());
    // A continuation line has no name.
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let others = names.filter(|name| !name.is_empty() && *name != "help");
    let further: Vec<Help> = others.flat_map(|name| below(&[command, &[name]].concat())).collect();
    let is_group = listed.is_some();
    let command = [&["svctrack"], command].concat().join(" ");
    [vec![Help { command, text, is_group }], further].into_iter().flatten().collect()
}
