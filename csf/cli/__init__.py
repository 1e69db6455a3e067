"""The command line: ``csf search``, ``csf compare``, ``csf predict`` and ``csf experiment``."""

from __future__ import annotations

import os
import sys
import traceback
import warnings

from csf.cli.errors import CliError

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; ``None`` takes those of the process.

    Returns
    -------
    int
        Exit code: 0 for success, 2 for an error in the command or the data, 1 for any other error, 130 after Ctrl-C.

    Examples
    --------
    >>> main(["search", "iris:1", "--trials", "2", "--quiet"])
    0
    """
    from csf.cli.parser import make_parser

    argv = sys.argv[1:] if argv is None else argv
    try:
        options = make_parser().parse_args(argv)
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
        expected = isinstance(error, (CliError, ValueError, TypeError, OSError, MemoryError))
        hint = "" if expected else "; --debug shows where"
        return _fail(f"{_one_line(error) or type(error).__name__}{hint}", 2 if expected else 1)
    return 0


def _fail(message, code):
    print(f"csf: error: {message}", file=sys.stderr)
    return code


def _silent(*values, **options):
    """Print nothing."""


def _one_line(error):
    """First line of a message, and the last one where it says more: what went wrong, where a traceback is quoted."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join([*lines[:1], *(line for line in lines[-1:] if line not in lines[0])])


def _show_warning(message, category, filename, lineno, file=None, line=None):
    print(f"csf: warning: {_one_line(message)}", file=sys.stderr)
