"""Numbers of keys that are met again and again."""

from __future__ import annotations

import numpy as np

from probescope.model.alike import Remembered


def test_keys_have_the_numbers_that_they_were_given() -> None:
    """A stack must never be shown as another one: also where keys have to share the few places of a table."""
    met, asked = Remembered(bits=4), []
    random = np.random.default_rng(7)
    for _ in range(50):
        keys = random.integers(0, 100, 300).astype(np.uint64)

        def ask(which: np.ndarray, keys: np.ndarray = keys) -> list[int]:
            asked.extend(keys[which].tolist())
            return [n * 10 for n in keys[which].tolist()]

        assert met.numbers(keys, ask).tolist() == [n * 10 for n in keys.tolist()]
    assert len(asked) < 50 * 300 / 2


def test_known_keys_are_not_asked_for() -> None:
    """Asking costs a step of Python each, which is what this is there to save."""
    met = Remembered()
    keys = np.array([5, 9, 5], np.uint64)
    assert met.numbers(keys, lambda which: [int(n) for n in keys[which]]).tolist() == [5, 9, 5]
    assert met.numbers(keys, lambda _: []).tolist() == [5, 9, 5]
    assert met.numbers(keys[:0], lambda _: []).tolist() == []
