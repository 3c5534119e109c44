//! `svctrack completions`: completion scripts for shells.

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use super::output::print_out;

/// Print a shell completion script
///
/// The script completes commands and flags. Where to put it is up to the shell: zsh, for example, reads `_svctrack` in a
/// directory of its `fpath`.
#[derive(Args)]
#[command(after_help = "Examples:
  svctrack completions bash > /etc/bash_completion.d/svctrack")]
pub(crate) struct Completions {
    /// Shell to complete for
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut command: Command) -> Result<(), String> {
        let mut script = Vec::new();
        generate(self.shell, &mut command, "svctrack", &mut script);
        print_out(String::from_utf8_lossy(&script).trim_end())
    }
}
