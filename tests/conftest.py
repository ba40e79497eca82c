"""The tests of this folder share `mathematics`; `--update` rewrites `generated/`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_collection_modifyitems(items):
    """Tests of frameworks come last: beside JAX, a check has no process of its own any more."""
    items.sort(key=lambda item: "frameworks" in item.path.parts)


def pytest_addoption(parser):
    """`pytest --update` writes `generated/` anew instead of comparing it."""
    parser.addoption("--frameworks", action="store_true", help="fail where torch, JAX or LAPACKE is missing")
    parser.addoption("--update", action="store_true", help="write the files of generated/ that differ")
