"""Intervals against known values and their own coverage."""

import numpy as np
import pytest

from evaluation.intervals import bootstrap, wilson


def test_wilson_known_values():
    low, high = wilson(50, 100)  # Wilson 1927; the textbook example
    assert (low, high) == pytest.approx((0.40383, 0.59617), abs=1e-5)
    assert wilson(0, 10) == pytest.approx((0.0, 0.27753), abs=1e-5)
    assert wilson(10, 10)[1] == pytest.approx(1.0)


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (0, 0), (-1, 5)])
def test_wilson_refuses_nonsense(successes, n):
    with pytest.raises(ValueError):
        wilson(successes, n)


def test_bootstrap_covers_the_truth():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(100):
        words = rng.integers(3, 12, 80)
        errors = rng.binomial(words, 0.3)
        low, high = bootstrap(errors.tolist(), words.tolist(), seed)
        covered += low <= 0.3 <= high
    assert covered >= 88  # of 100 intervals that should each cover with 95 %


def test_bootstrap_is_repeatable_and_refuses_nothing():
    assert bootstrap([1, 2, 0], [3, 3, 3], 5) == bootstrap([1, 2, 0], [3, 3, 3], 5)
    with pytest.raises(ValueError):
        bootstrap([], [])


def test_bootstrap_of_a_rate_is_as_wide_as_wilsons():
    assert bootstrap([1, 0] * 200, [1] * 400) == pytest.approx(wilson(200, 400), abs=0.004)
