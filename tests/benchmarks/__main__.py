"""``python -m tests.benchmarks [topic] [options]``: all measurements behind one command; the topic ``all`` runs all."""

import pkgutil
import runpy
import sys
from pathlib import Path

__all__ = ["main"]

FIRST = "engine"
# What the measurements share.
LEFT_OUT = ("__main__", "bases", "coverage", "data", "kovacs_methods", "kovacs_sets", "one_pass", "refits", "tables")
LEFT_OUT += ("decisions", "net_numbers", "net_searches", "watching", "watching_kinds")


def topics():
    """Names of the benchmarks: the modules of this package that print a table."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    return [name for name in names if name not in LEFT_OUT and not name.startswith("test_")]


def main(arguments=None):
    """Run one benchmark with the rest of the arguments."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    topic = arguments.pop(0) if arguments and not arguments[0].startswith("-") else FIRST
    if topic == "all":
        for each in topics():
            print(f"## {each}\n", flush=True)
            main([each])
        return
    if topic not in topics():
        raise SystemExit(
            f"there is no benchmark {topic!r}; accepted: {', '.join(topics())}. --help after one tells its options"
        )
    given, sys.argv = sys.argv, [f"python -m tests.benchmarks {topic}", *arguments]
    try:
        runpy.run_module(f"tests.benchmarks.{topic}", run_name="__main__")
    finally:
        sys.argv = given


if __name__ == "__main__":
    main()
