"""Attack csf from the command line: ``python -m tests.fuzz --calls 4000``, or one case with ``--seed 123``."""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.attack import attack, case, count, describe

parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
parser.add_argument("--seed", type=int, help="repeat this case alone, with its traceback")
parser.add_argument("--start", type=int, default=0, help="first seed")
parser.add_argument("--calls", type=int, default=1000, help="number of seeds")
parser.add_argument("--limit", type=float, default=30.0, help="seconds that a call may take")
options = parser.parse_args()
if options.seed is not None:
    print(describe(options.seed))
    target, arguments, mutated = case(options.seed)
    target.call(**arguments)
    sys.exit("no error")
start = time.perf_counter()
seeds = range(options.start, options.start + options.calls)
faults = attack(seeds, limit=options.limit, told=lambda seed, fault: print(describe(seed, fault), flush=True))
print()
for (what, place), at in sorted(faults.items(), key=lambda item: -len(item[1])):
    print(f"{len(at):5d}  {what:32s}  {place}  seeds {at[:4]}")
calls, places = count(faults)
print(f"of {options.calls} calls {calls} outside the contract, {places} distinct places")
print(f"{time.perf_counter() - start:.0f} s")
