"""``logreplay completion``: scripts with which a shell completes commands and options."""

import click

from logreplay.cli.display.terminal import print_result
from logreplay.cli.settings.empty_values import Checked


@click.command(cls=Checked)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for SHELL that completes commands, options and their values.

    \b
    Example:
      logreplay completion bash > ~/.local/share/bash-completion/completions/logreplay
      logreplay completion zsh > ~/.zfunc/_logreplay        # with fpath+=~/.zfunc before compinit in ~/.zshrc
      logreplay completion fish > ~/.config/fish/completions/logreplay.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind
    root = click.get_current_context().find_root().command
    print_result(kind(root, {}, "logreplay", "_LOGREPLAY_COMPLETE").source())
