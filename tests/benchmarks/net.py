"""Whether a change of csf keeps what its searches find: small searches of every kind of problem and option.

``python -m tests.benchmarks net`` compares the numbers of each search with those in ``net_reference.json``, and prints
what differs by more than 1e-9; a slow test does the same. Where a change is meant and shown to be right, ``--write``
prints the differences and renews the reference: commit it with the change, and name the numbers in the commit.
``--out FILE`` writes all numbers at full length, and ``--against FILE`` compares with such a file of another version
on the same machine. The reference names the processor and the libraries that computed it. Others have other last
digits, and the slow test is skipped there.
"""

import argparse
import json
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from tests.benchmarks.net_numbers import condense, differences, measure
from tests.benchmarks.net_searches import searches

__all__ = ["REFERENCE", "comparable", "machine", "main", "measured", "read_reference"]

REFERENCE = Path(__file__).with_name("net_reference.json")
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "liblinear-official")


def machine():
    """Name what last digits depend on: instructions of the processor, kernels of linear algebra, and libraries."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    kernels = sorted({pool["architecture"] for pool in threadpool_info() if "architecture" in pool})
    return [" ".join(simd["found"]), *kernels, *(f"{name} {version(name)}" for name in LIBRARIES)]


def read_reference(path=REFERENCE):
    """Read the machine of a file of numbers, or None, and the numbers of its searches."""
    numbers = json.loads(path.read_text(encoding="utf-8"))
    return numbers.pop("machine", {}).get("names"), numbers


def measured(only=""):
    """Numbers of all searches whose name contains ``only``, by name."""
    told = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, search in searches().items():
            if only in name:
                try:
                    told[name] = measure(search())
                except Exception as error:  # as a result like another, which the other version has or not
                    told[name] = {"error": [type(error).__name__]}
    return told


def comparable(told):
    """Shorten long lists."""
    return {name: {key: condense(values) for key, values in sorted(numbers.items())} for name, numbers in told.items()}


def _write(path, told):
    """Write a line for each search, so that a change of the file can be read."""
    lines = [f"{json.dumps(name)}: {json.dumps(numbers, separators=(',', ':'))}" for name, numbers in told.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(argv=None):
    """Measure all searches, and write or compare their numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="file to write all numbers to")
    parser.add_argument("--against", type=Path, default=REFERENCE, help="file to compare with (the reference)")
    parser.add_argument("--write", action="store_true", help="renew the reference")
    parser.add_argument("--only", default="", help="part of the names of the searches to run")
    arguments = parser.parse_args(argv)
    if arguments.write and arguments.only:
        parser.error("--write renews all searches; leave --only out")
    told = measured(arguments.only)
    now = comparable(told) if arguments.against == REFERENCE else told
    if arguments.out is not None:
        _write(arguments.out, told)
    if arguments.against.exists():
        made_on, before = read_reference(arguments.against)
        if made_on not in (None, machine()):
            print(f"the reference was computed elsewhere, where last digits may be others: {', '.join(made_on)}")
        before = {name: numbers for name, numbers in before.items() if arguments.only in name}
        rows = differences(before, now)
        for name, keys in rows.items():
            print(f"{name}: {', '.join(keys)}")
        print(f"{len(rows)} of {len(now)} searches differ by more than 1e-9")
    if arguments.write:
        _write(REFERENCE, {"machine": {"names": machine()}} | now)
    errors = [name for name, numbers in told.items() if "error" in numbers]
    print(f"{len(told)} searches" + (f", of which {len(errors)} are refused: {', '.join(errors)}" if errors else ""))


if __name__ == "__main__":
    main()
