"""The command line: ``csf search``, ``compare``, ``predict``, ``threshold`` and ``monitor``."""

from __future__ import annotations

import sys

from csf._common import __version__

__all__ = ["VERSION", "main"]

VERSION = f"csf {__version__}"


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; ``None`` takes those of the process.

    Returns
    -------
    int
        Exit code: 0 for success, 2 for an error in the command or the data, 3 for an alarm of ``csf monitor``, 1 for
        any other error, 130 after Ctrl-C.

    Examples
    --------
    >>> main(["search", "iris:1", "--trials", "2", "--quiet"])
    0
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv == ["--version"]:
        # Before the parser, whose commands load all of csf.
        print(VERSION)
        return 0

    from csf.cli.parser import make_parser, run_command

    return run_command(make_parser(), argv)
