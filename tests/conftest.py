"""The tests of this folder share `mathematics`; `--update` rewrites `generated/`."""

import gc
import os
import sys
from collections import Counter
from importlib.util import find_spec
from math import inf
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
LONG = ("long", "longest")  # marks of tests, and options of a run
TURNS = 7  # runs after which --turn has had all: prime, so that a run has some rows of each language


class NamedAtOnce:
    """A test that fails is named when it does: a run that is stopped before its summary has said what it knew."""

    def __init__(self, terminal):
        self.terminal = terminal

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        if report.failed:
            said = f"\n{report.nodeid} failed in its {report.when} after {report.duration:.0f} s"
            self.terminal.write_line(said, red=True)


def pytest_configure(config):
    """What takes long is left out of a run of everything; who names a file or a test has all of it."""
    for mark in LONG:
        if hasattr(config, "workerinput"):  # a process of pytest-xdist is given the files by name
            setattr(config.option, mark, config.workerinput[mark])
        elif config.args_source is config.ArgsSource.ARGS:
            setattr(config.option, mark, True)


def pytest_sessionstart(session):
    if terminal := session.config.pluginmanager.get_plugin("terminalreporter"):
        session.config.pluginmanager.register(NamedAtOnce(terminal))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """As many processes as there are processors for a run of everything; none for a file, or a test."""
    return 0 if config.args_source is config.ArgsSource.ARGS else os.cpu_count()


def pytest_ignore_collect(collection_path, config):
    """Without torch and JAX the tests of frameworks are left out, unless they are asked for."""
    missing = collection_path.name == "frameworks" and not any(map(find_spec, ("torch", "jax")))
    return True if missing and not config.option.frameworks else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """What a process of pytest-xdist is told."""
    for mark in LONG:
        node.workerinput[mark] = getattr(node.config.option, mark)


def pytest_collection_modifyitems(config, items):
    """Tests of frameworks come last: beside JAX, a check has no process of its own any more. Of them, long files come
    first: no process is to begin one when the others have nothing left to do."""
    tests = Counter(item.path for item in items)
    items.sort(key=lambda item: -tests[item.path] if "frameworks" in item.path.parts else -inf)
    marks = [mark for mark in LONG if not getattr(config.option, mark)]
    left = {item for item in items if any(map(item.get_closest_marker, marks))}
    if config.option.turn is not None:
        rows = Counter[object]()
        for item in (i for i in items if i not in left and i.get_closest_marker("in_turn")):
            if (rows[item.function] + config.option.turn) % TURNS:
                left.add(item)
            rows[item.function] += 1
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="module", autouse=True)
def _no_second_look():
    """What a file leaves behind, formulas and what was derived of them, stays: the collector need not look at some
    gigabytes of it again during the next file."""
    yield
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    """`pytest --update` writes `generated/` anew instead of comparing it."""
    parser.addoption("--frameworks", action="store_true", help="fail where torch, JAX or LAPACKE is missing")
    parser.addoption("--long", action="store_true", help="run what takes long, too: random formulas, mutants, ranges")
    parser.addoption("--longest", action="store_true", help="run what takes minutes each: formulas of 10^5 operations")
    parser.addoption("--turn", type=int, help=f"run one in {TURNS} rows of what is in_turn, others with each number")
    parser.addoption("--update", action="store_true", help="write the files of generated/ that differ")
