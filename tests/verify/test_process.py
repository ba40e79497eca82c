"""A check ends: when the time is over, when the printed code never comes back, and when it crashes."""

from __future__ import annotations

import os
import signal
import time
from functools import partial

import pytest
from loading import Compiled, numpy_module
from printed import FUNCTIONS, NUMPY, C, c_files, numpy_files

from symgrad.verify import check, process

linux = pytest.mark.skipif(not process.possible(), reason="a process is copied on Linux only")


class Wrong:
    """The right artefact, but for what it does at one call of forward."""

    def __init__(self, name, call, does):
        self.module, self.left, self.does = numpy_module(numpy_files(name)), call, does

    def forward(self, *inputs, **options):
        self.left -= 1
        if not self.left:
            self.does()
        return self.module.forward(*inputs, **options)

    def backward(self, *args):
        return self.module.backward(*args)


def forever():
    while True:
        time.sleep(0.01)


def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


def checked(does, call, **options):
    return check(FUNCTIONS["softmax"](), numpy_files("softmax"), "numpy", Wrong("softmax", call, does), **options)


@linux
def test_the_time_runs_out():
    start = time.perf_counter()
    report = checked(forever, 3, seconds=1.5)
    assert 1.4 < time.perf_counter() - start < 10
    assert not report.ok and not report.failures
    assert 0 < report.points < report.planned
    assert str(report) == (
        f"softmax   numpy   NOT FINISHED   {report.points} of {report.planned} points agree; the 1.5 s ran out, and "
        f"the rest was not checked"
    )


@linux
def test_no_time_at_all():
    report = checked(forever, 1, seconds=0.001)
    assert "no point was compared; the 0.001 s ran out" in str(report) and not report.ok


def test_time_enough_changes_nothing():
    assert checked(forever, 10**9, seconds=100) == checked(forever, 10**9)


@linux
def test_a_call_that_never_comes_back_is_a_failure(monkeypatch):
    monkeypatch.setattr(process, "SILENCE", 1.5)
    report = checked(forever, 3)
    assert "softmax: does not end within 1.5 s   [float64]" in str(report)
    assert "point        one-hot grad_output" in str(report)


@linux
def test_what_the_text_shows_is_not_lost_with_the_call():
    files = numpy_files("softmax", NUMPY["softmax"].replace("def backward", "def adjoint"))
    report = check(FUNCTIONS["softmax"](), files, "numpy", Wrong("softmax", 1, forever), seconds=3)
    assert [failure.stage for failure in report.failures] == ["text"]


@linux
@pytest.mark.parametrize("call", [1, 4])
def test_a_crash_is_a_failure_with_its_point(call):
    report = checked(crash, call)
    text = str(report)
    assert "softmax: crashes (SIGSEGV)   [float64]" in text
    assert "grad_output" in text and "reproduce  seed=0, case" in text
    assert (report.points > 0) is (call > 1)


@linux
def test_a_crash_of_compiled_c():
    broken = C["linear"].replace("double sum = 0.0;", "double sum = x[1099511627776];", 1)
    artefact = Compiled(FUNCTIONS["linear"](), c_files("linear", broken))
    report = check(FUNCTIONS["linear"](), c_files("linear"), "c", artefact)
    assert "linear: crashes (SIGSEGV)   [float64]" in str(report)


@linux
def test_an_exit_is_no_success():
    report = checked(lambda: os._exit(0), 2)
    assert "softmax: crashes (an exit)" in str(report)


@linux
def test_without_memory_after_a_call():
    """What writes outside of an array may change a length that memory is then asked for."""

    def work(tell, calling=("a call", None)):
        for said in calling:
            tell("calling", said)
        raise MemoryError

    assert process.isolated(work).how == "MemoryError"
    with pytest.raises(MemoryError):
        process.isolated(partial(work, calling=()))


def test_what_the_check_raises_is_raised():
    with pytest.raises(AttributeError, match="NoneType"):
        check(FUNCTIONS["softmax"](), None, "numpy", None)


LOOPS = [
    ("softmax", "grad_x = None", "grad_x = None\n    while True:\n        pass"),
    ("softmax", "grad_x = None", "grad_x = None\n    items = [0]\n    for i in items:\n        items.append(i)"),
    ("softmax", "grad_x = None", "grad_x = None\n    for i in range(10**12):\n        pass"),
]


@pytest.mark.parametrize("row", LOOPS, ids=[r[2].splitlines()[-2].strip() for r in LOOPS])
def test_a_text_that_does_not_end(row):
    name, old, new = row
    report = check(
        FUNCTIONS[name](), numpy_files(name, NUMPY[name].replace(old, new, 1)), "numpy", Wrong(name, 0, forever)
    )
    assert "backward: a loop does not end   [text]" in str(report)


IDLE = "for (size_t idle = 0; idle < 1000000000000; ++idle) { sum = 0.0; }"


def test_a_c_text_that_does_not_end():
    text = C["linear"].replace("double sum = 0.0;", "double sum = 0.0;\n" + IDLE, 1)
    artefact = Compiled(FUNCTIONS["linear"](), c_files("linear"))
    report = check(FUNCTIONS["linear"](), c_files("linear", text), "c", artefact)
    assert "a loop does not end" in str(report)
