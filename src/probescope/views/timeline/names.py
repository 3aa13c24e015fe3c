"""Names by numbers: replies carry numbers, and each text goes to the page once."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class Names:
    """Numbers are given out as texts are seen, from 0 on, which is the empty text."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": 0}
        self._texts: list[str] = [""]
        self._guard = threading.Lock()

    def number(self, text: str) -> int:
        found = self._numbers.get(text)
        if found is not None:
            return found
        with self._guard:
            found = self._numbers.setdefault(text, len(self._texts))
            if found == len(self._texts):
                self._texts.append(text)
        return found

    def numbers(self, texts: Iterable[str]) -> Array:
        return np.fromiter((self.number(t) for t in texts), np.uint32)

    def text(self, number: int) -> str:
        return self._texts[number]

    def __len__(self) -> int:
        return len(self._texts)


class Told:
    """Which names one page has been told."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._told = np.zeros(1024, bool)

    def fresh(self, numbers: Array) -> dict[str, str]:
        """Those that it has not, with their texts."""
        if len(self._told) < len(self._names):
            self._told = np.append(self._told, np.zeros(2 * len(self._names), bool))
        new = np.unique(numbers[~self._told[numbers]])
        self._told[new] = True
        return {str(n): self._names.text(n) for n in new.tolist()}
