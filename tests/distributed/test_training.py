"""Waves of trials over an engine."""

import numpy as np
import pytest
from builders import told
from sklearn.linear_model import LogisticRegression

from csf.distributed import MemoryEngine
from csf.distributed.search import EngineTrainer
from csf.metrics import FBeta


class Engine(MemoryEngine):
    """One that trains a few jobs in the same passes."""

    jobs = 4

    def most_jobs(self, n_folds):
        return self.jobs


@pytest.mark.parametrize(("jobs", "expected"), [(1, [1] * 6), (4, [2, 2, 1, 1]), (100, [3, 3])])
def test_waves_hold_as_many_trials_as_are_trained_together_and_one_of_each_setting(jobs, expected):
    rng = np.random.default_rng(0)
    engine = Engine(rng.normal(size=(40, 2)), np.arange(40) % 2, np.arange(40) % 4 // 2)
    engine.jobs = jobs
    trainer = EngineTrainer(engine, [LogisticRegression()] * 3, FBeta(), engine.totals())
    trials = [told(number, 0.2 + 0.1 * number, 0.1, 0.1, pos=0.5) for number in range(2)]
    batch = [(setting, trial) for setting in range(3) for trial in trials]
    waves = trainer.waves(batch)
    assert sorted(len(wave) for wave in waves) == sorted(expected)
    assert all(len({setting for setting, _ in wave}) == len(wave) for wave in waves)
    assert sorted((s, t.number) for wave in waves for s, t in wave) == [(s, t.number) for s, t in batch]
