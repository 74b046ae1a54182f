//! Starts the server that is on the user's path, and passes their settings on.

use zed_extension_api::serde_json::Value;
use zed_extension_api::settings::LspSettings;
use zed_extension_api::{Command, Extension, LanguageServerId, Result, Worktree, register_extension};

struct Dupi;

impl Extension for Dupi {
    fn new() -> Self {
        Dupi
    }

    fn language_server_command(&mut self, _: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let command = worktree.which("dupi-lsp").ok_or("dupi-lsp is not on the path: install it by cargo or npm")?;
        Ok(Command { command, args: Vec::new(), env: worktree.shell_env() })
    }

    fn language_server_workspace_configuration(
        &mut self,
        id: &LanguageServerId,
        worktree: &Worktree,
    ) -> Result<Option<Value>> {
        Ok(LspSettings::for_worktree(id.as_ref(), worktree)?.settings)
    }
}

register_extension!(Dupi);
