"""Seeded calls of all targets, each with one or two arguments that are not good."""

import os
import tempfile
from collections import Counter, defaultdict
from contextlib import chdir

import numpy as np
from fuzz.contract import judge
from fuzz.targets import TARGETS
from fuzz.values import mutate

__all__ = ["attack", "case"]

# Share of calls that must succeed as they are: without them a target could fail for reasons of its own.
GOOD = 0.04


def case(seed):
    """Target, arguments and names of the mutated ones of a seed."""
    rng = np.random.default_rng(seed)
    target = TARGETS[seed % len(TARGETS)]
    arguments = target.arguments(rng)
    n_mutated = 0 if rng.random() < GOOD else min(int(rng.choice([1, 1, 2])), len(arguments))
    mutated = rng.choice(sorted(arguments), n_mutated, replace=False).tolist()
    for name in mutated:
        arguments[name] = mutate(name, arguments[name], target.choices.get(name), rng)
    return target, arguments, mutated


def attack(seeds, *, limit=30.0, told=lambda seed, fault: None):
    """Faults by place: ``{(what, place): [seeds]}``."""
    faults = defaultdict(list)
    home = os.getcwd()
    for seed in seeds:
        target, arguments, mutated = case(seed)
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            fault = judge(target.call, arguments, mutated=mutated, limit=limit)
        assert os.getcwd() == home
        if fault is not None:
            owner = target.name if fault[0].startswith("Insane") else ""
            faults[fault[0].partition(":")[0], f"{fault[1]} {owner}".strip()].append(seed)
            told(seed, fault)
    return dict(faults)


def describe(seed, fault=None):
    """One line about a case, to be read and repeated."""
    target, arguments, mutated = case(seed)
    what = ", ".join(f"{name}={_short(arguments[name])}" for name in mutated) or "nothing mutated"
    return f"--seed {seed}  {target.name}: {what}" + ("" if fault is None else f"\n    {fault[1]}: {fault[0][:300]}")


def count(faults):
    """Number of calls outside the contract and of distinct places."""
    return sum(Counter({place: len(seeds) for place, seeds in faults.items()}).values()), len(faults)


def _short(value):
    text = " ".join(repr(value).split())
    kind = f"{type(value).__name__}{value.shape} " if hasattr(value, "shape") else ""
    return kind + (text if len(text) < 90 else text[:90] + "...")
