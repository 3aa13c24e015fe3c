"""Tests in this folder run inside the virtual machines of vmtest: ``make test-kernels``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

KERNEL = os.environ.get("PROBESCOPE_VM_KERNEL", "")
MATRIX = Path(__file__).resolve().parents[1] / "matrix"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not KERNEL:
        outside = pytest.mark.skip(reason="runs inside a virtual machine: python -m vmtest test --kernel 6.12")
        for item in items:
            if item.path.is_relative_to(Path(__file__).parent):
                item.add_marker(outside)


@pytest.fixture(scope="session")
def vm_kernel() -> str:
    """The kernel's name as ``vmtest --kernel`` takes it: ``6.1``, ``6.12``."""
    return KERNEL


@pytest.fixture(scope="session")
def matrix(vm_kernel) -> dict[str, str]:
    """What this kernel is known to have: feature name to ``yes`` or ``no``."""
    path = MATRIX / f"{vm_kernel}.json"
    if not path.exists():
        pytest.skip(f"nothing is written down about kernel {vm_kernel}")
    return json.loads(path.read_text())["features"]
