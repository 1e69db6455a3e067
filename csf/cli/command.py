"""How commands are declared and run: options, exit codes, and messages of one line."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any, NoReturn

from csf.cli.errors import CliError

__all__ = ["CommandParser", "add_command", "run_command"]

# What a user can mend, as against a fault of the program.
_EXPECTED = (CliError, ValueError, TypeError, OSError, MemoryError)


class CommandParser(ArgumentParser):
    """Parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise CliError(f"{message}; see {self.prog} --help")


def add_command(
    commands: Any, name: str, text: str, run: Callable[..., Any], *, operands: str = "DATA", epilog: str | None = None
) -> ArgumentParser:
    """Parser of one command, whose options hold its function as ``run``."""
    command = commands.add_parser(
        name,
        usage=f"%(prog)s [options] {operands}",
        help=text,
        description=text,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=epilog,
    )
    command.set_defaults(run=run)
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return command


def run_command(parser: ArgumentParser, argv: list[str]) -> int:
    """Run what the arguments say; exit code as of `csf.cli.main`."""
    try:
        options = parser.parse_args(argv)
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = _show_warning
            options.run(options, _silent if options.quiet else print)
            sys.stdout.flush()
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader of the output, such as head, is gone: nothing is left to say, nor to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in argv:
            traceback.print_exc()
        expected = isinstance(error, _EXPECTED)
        hint = "" if expected else "; --debug shows where"
        return _fail(f"{_one_line(error) or type(error).__name__}{hint}", 2 if expected else 1)
    return 0


def _fail(message: str, code: int) -> int:
    print(f"csf: error: {message}", file=sys.stderr)
    return code


def _silent(*values: object, **options: Any) -> None:
    """Print nothing."""


def _one_line(error: object) -> str:
    """First line of a message, and the last one where it says more: what went wrong, where a traceback is quoted."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join([*lines[:1], *(line for line in lines[-1:] if line not in lines[0])])


def _show_warning(message, category, filename, lineno, file=None, line=None):
    print(f"csf: warning: {_one_line(message)}", file=sys.stderr)
