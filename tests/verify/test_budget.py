"""By default a check takes seconds, however large a function is, and says what it has left out."""

from __future__ import annotations

import sys

import pytest

import symgrad as sg
from symgrad.cli.progress import Progress
from symgrad.verify.budget import Budget
from symgrad.verify.cases import Case

LABELS = ("random", "wide range", "ties", "edges", "a size of 0")
CASES = [Case({}, {}, {}, number, label, work=0 if "0" in label else 100) for number, label in enumerate(LABELS)]


def busy(budget: Budget, most: int) -> list[str]:
    """The labels of what is looked at, where each takes a second, and no more than so many fit."""
    budget.limit = most + 0.5
    return [case.label for case in budget.chosen(CASES)]


def test_what_is_most_telling_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("symgrad.verify.budget.process_time", lambda: next(clock))
    budget = Budget()
    assert busy(budget, 3) == ["random", "edges", "ties", "a size of 0"]
    assert str(budget) == "not looked at, to take no more than seconds: 1 point (wide range); --full does"


def test_what_compiles_at_the_first_point_says_nothing_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0
    monkeypatch.setattr("symgrad.verify.budget.process_time", lambda: now)
    budget = Budget(5.5)
    for number, _ in enumerate(budget.chosen(CASES)):
        with budget.calling():
            now += 20 if number == 0 else 1
    assert (now, str(budget)) == (24, "")


def test_where_all_of_it_fits_the_order_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("symgrad.verify.budget.process_time", lambda: next(clock))
    budget = Budget()
    assert (busy(budget, 5), str(budget)) == ([*LABELS], "")


def test_a_report_says_what_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["symgrad.verify.check"], "Budget", lambda: Budget(0.0))
    function = sg.parse("f(x[n,k])[i,j] = exp(x[i,j])/sum[l](exp(x[i,l]))")
    report = sg.check(function)
    assert report.ok and 0 < report.points < report.planned
    assert "  not looked at, to take no more than seconds: " in str(report)
    assert not sg.check(function, seconds=100).left_out


def test_progress_is_one_line_of_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(2)
    progress.next("squares   c")
    assert capsys.readouterr().err == ""  # no terminal
    progress.terminal = True
    progress.doing("case 3 of 8, ties: the code")
    progress.done()
    line = "1 of 2   squares   c   case 3 of 8, ties: the code"
    assert capsys.readouterr().err == f"\r{line}\r"  # what clears it is left out where there is no terminal
