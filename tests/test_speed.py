"""`python -m benchmarks.speed` measures, compares with what is right, and draws: at small sizes, without peers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.speed import report
from benchmarks.speed.columns import COLUMNS
from benchmarks.speed.reasons import REASONS
from benchmarks.speed.work import ROWS

ROOT = Path(__file__).parents[1]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
OWN = ("C by hand", "symgrad C -O3", "symgrad C -O2", "NumPy by hand", "symgrad NumPy")


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """What the command prints of one row of each kind, and the results that it keeps."""
    kept = tmp_path_factory.mktemp("speed") / "results.json"
    asked = ["--quick", "--work", "ba_jacobian,chain", "--columns", ",".join(OWN), "--results", str(kept)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed", *asked], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(kept.read_text())


@needs_cc
@pytest.mark.parametrize("row", ["ba_jacobian", "chain"])
def test_each_column_computes_the_same(quick, row):
    found = quick[1]["rows"][row]
    assert set(found) == {name for name in OWN if ROWS[row].kind in COLUMNS[name].kinds}
    for name, cell in found.items():
        assert "left out" not in cell, (name, cell)
        assert cell["error"] < 1e-13 and all(seconds > 0 for seconds in cell[ROWS[row].asks]), name


@pytest.mark.parametrize("name", ["arm", "recurrence"])
def test_what_is_generated_is_timed(name):
    asked = [sys.executable, "-m", "benchmarks.speed.generating", name]
    assert 0 < float(subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout) < 60


@needs_cc
def test_jacobians_are_compared():
    asked = [sys.executable, "-m", "benchmarks.speed.jacobians", "--quick", "--work", "cart_pole"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("| cart-pole"))
    operations = line.split("|")[7]
    assert 40 < int(operations.split("/")[0]) <= 54  # CasADi takes 54


@needs_cc
def test_the_table_has_a_ratio_for_each(quick):
    (line,) = (line for line in quick[0].splitlines() if line.startswith("| tanh(ax+b)"))
    assert len([cell for cell in line.split("|") if " / " in cell]) == len(OWN)


@needs_cc
def test_the_document_is_made_of_what_is_kept(quick, tmp_path):
    report.write(quick[1], tmp_path)
    text = (tmp_path / "speed.md").read_text()
    assert [text.count(f"| {ROWS[row].title} ") for row in quick[1]["rows"]] == [3, 7]
    drawn = (tmp_path / "speed.svg").read_text()
    assert drawn.count(f">{ROWS['chain'].title}<") == 1 and drawn.count(' cy="') == 7 + 4  # a legend, two for each row


def test_goals_and_reasons_are_of_rows_and_columns_that_exist():
    assert {column for row in ROWS.values() for column in row.goals} <= set(COLUMNS)
    assert all(column in ROWS[row].goals for row, column in REASONS)


def test_what_is_misspelt_is_told():
    asked = [sys.executable, "-m", "benchmarks.speed", "--work", "gelu,geru"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "there is no row 'geru'; there are ba; " in done.stderr
