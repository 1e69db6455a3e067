"""Tests, and measurements in `tests.benchmarks`: a package, so that no other one of this name is taken for it."""
