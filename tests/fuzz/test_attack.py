"""Every public name under many bad calls: ``CSF_FUZZ_CALLS`` says how many, ``CSF_FUZZ_SEED`` where to start."""

import os

import numpy as np
import pytest
from fuzz.attack import attack, case, describe
from fuzz.contract import judge, sane
from fuzz.targets import EXEMPT, TARGETS, public_names

CALLS, START = (int(os.environ.get(f"CSF_FUZZ_{name}", value)) for name, value in (("CALLS", 800), ("SEED", 0)))


def test_every_public_name_is_attacked_or_exempt():
    attacked = {target.name.partition(" ")[0] for target in TARGETS}
    assert not attacked & set(EXEMPT)
    assert public_names() - attacked - set(EXEMPT) == set(), "give them a target, or a reason in EXEMPT"
    assert (attacked | set(EXEMPT)) - public_names() == set(), "no longer public"


def test_a_seed_is_one_case():
    for seed in range(len(TARGETS)):
        (one, first, names), (other, second, same) = case(seed), case(seed)
        assert one is other
        assert names == same
        assert [*first] == [*second]
        assert describe(seed) == describe(seed)


def _raises(error):
    def call(*, alpha):
        raise error

    return call


def _warns(*, alpha):
    np.float64(1e308) * np.float64(10.0)


def _changes(*, alpha):
    alpha[0] = 1.0


def _prints(*, alpha):
    print("hello")


def _draws(*, alpha):
    np.random.rand()  # noqa: NPY002


def _hangs(*, alpha):
    while True:
        pass


def _is_insane(*, alpha):
    sane([True, False], "half of it")


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (_raises(KeyError("alpha")), "KeyError"),
        (_raises(ValueError("something is wrong")), "names no argument"),
        (_warns, "RuntimeWarning"),
        (_changes, "changed its arguments ['alpha']"),
        (_prints, "printed 'hello"),
        (_draws, "changed numpy's global random state"),
        (_hangs, "took more than 0.2 s"),
        (_is_insane, "Insane: half of it"),
    ],
)
def test_the_contract_sees(call, fault):
    assert judge(call, {"alpha": np.zeros(2)}, mutated=["alpha"], limit=0.2)[0].startswith(fault)


def test_the_contract_allows_errors_that_name_the_argument_but_none_of_good_calls():
    call = _raises(ValueError("alpha must be positive, got 0"))
    assert judge(call, {"alpha": 0}, mutated=["alpha"], limit=1.0) is None
    assert judge(call, {"alpha": 0}, mutated=[], limit=1.0)[0].startswith("a good call fails")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_no_call_is_outside_the_contract(part, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = []
    attack(range(START + part, START + CALLS, 8), told=lambda seed, fault: found.append(describe(seed, fault)))
    assert not found, "repeat one with python -m tests.fuzz --seed N\n" + "\n".join(found)
