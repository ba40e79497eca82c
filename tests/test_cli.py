"""The command: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from symgrad import cli
from symgrad.backends import BACKENDS
from symgrad.cli import checking, files
from symgrad.cli.targets import resolve
from symgrad.errors import CompilerError
from symgrad.library import scalars
from symgrad.pipeline import printed

SCALARS = [name for name, f in vars(scalars).items() if getattr(f, "__module__", "") == scalars.__name__]

SQUARES = "squares(x, y) = x**2, x*y, y**2"
NUMPY = "out/squares/squares_numpy.py"
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

FILES = {
    "layers.py": """
        import dataclasses
        import symgrad as sg
        from symgrad.library import softmax
        from beside import FACTOR

        @dataclasses.dataclass
        class Unrelated:
            size: "int" = 3

        @sg.function
        def scale(x, y):
            return FACTOR * x * y

        @sg.function
        def affine(x: sg.Tensor["n k"], weight: sg.Tensor["k"]):
            return x @ weight

        cube = sg.parse("cube(x) = x**3")

        @sg.function
        def _private(x):
            return x

        def plain(x):
            return x
        """,
    "beside.py": "FACTOR = 2",
    "raises.py": "import symgrad\n\n@symgrad.function\ndef f(x):\n    return x + nothing\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "syntax.py": "def f(:\n",
    "lacks.py": "import no_such_module_here\n",
    "empty.py": "x = 1\n",
    "twice.py": "import symgrad as sg\na = sg.parse('f(x) = x')\nb = sg.parse('f(x) = 2*x')\n",
    "notes.txt": "no Python",
    "pack/__init__.py": "from .shapes import area\n__all__ = ['area']\n",
    "pack/shapes.py": """
        import symgrad as sg
        from . import units

        @sg.function
        def area(width, height):
            return units.SQUARE * width * height

        @sg.function
        def volume(x):
            return x**3
        """,
    "pack/units.py": "SQUARE = 1\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder with the files above, and Python as it was before."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        lines = text.strip("\n").splitlines()
        margin = len(lines[0]) - len(lines[0].lstrip())
        path.write_text("".join(f"{line[margin:]}\n" for line in lines))
    monkeypatch.chdir(tmp_path)
    path, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    assert sys.path == path, "sys.path is as it was"
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in {"pack", "beside", "layers"}:
            del sys.modules[name]


def run(*args, code=0):
    """What the command prints; it must end with that exit code, and without a traceback."""
    result = CliRunner().invoke(cli.main, args)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def tree(root="out"):
    """Every path below a folder."""
    return sorted(p.relative_to(root).as_posix() for p in Path(root).rglob("*") if p.is_file())


# what is a TARGET


@pytest.mark.parametrize(
    ("target", "functions"),
    [
        (SQUARES, ["squares"]),
        ("x**2 + y", ["f"]),
        ("layers.py", ["scale", "affine", "cube"]),
        ("layers", ["scale", "affine", "cube"]),
        ("layers.py:affine", ["affine"]),
        ("layers:affine", ["affine"]),
        ("layers.py:_private", ["_private"]),
        ("layers.py:softmax", ["softmax"]),
        ("pack", ["area"]),
        ("pack:area", ["area"]),
        ("pack.shapes", ["area", "volume"]),
        ("pack/shapes.py", ["area", "volume"]),
        ("pack/shapes.py:volume", ["volume"]),
        ("pack/__init__.py", ["area"]),
        ("symgrad.library:softmax", ["softmax"]),
        ("symgrad.library.scalars", SCALARS),
    ],
)
def test_targets(target, functions):
    output = run("generate", target, "--out", "out", "--no-check")
    listed = [line.split("/")[1] for line in output.partition("Files\n")[2].splitlines()]
    assert listed == functions
    assert tree() == sorted(f"{name}/{name}_numpy.py" for name in functions)


@pytest.mark.parametrize(
    "ways",
    [
        ("symgrad.library:softmax", "symgrad.library.statistics:softmax", "layers.py:softmax"),
        ("pack:area", "pack.shapes:area", "pack/shapes.py:area", "pack/shapes.py", "pack"),
        ("layers.py:affine", "layers:affine", "layers.py"),
    ],
    ids=lambda ways: ways[0],
)
def test_one_text_whichever_way_it_is_named(ways):
    run("generate", ways[0], "--out", "out", "--no-check", "--to", "numpy,c")
    name = ways[0].rpartition(":")[2]
    for way in ways[1:]:
        shown = run("generate", way, "--out", "out", "--to", "numpy,c", "--no-check").partition("Files")[2]
        assert shown.count("unchanged") >= 3
        assert "changed" not in shown.replace("unchanged", "")
        assert f"{name}_numpy.py" in shown


def test_a_function_that_is_named_needs_no_decorator():
    assert "plain_numpy.py" in run("generate", "layers.py:plain", "--out", "out", "--no-check")


def test_another_formula_without_a_name_is_not_written_over():
    run("generate", "x**2", "--out", "out", "--no-check")
    assert "unchanged" in run("generate", "x**2", "--out", "out", "--no-check")
    said = run("generate", "x**3", "--out", "out", "--no-check", code=2)
    assert "f_numpy.py was printed from another formula. Give this one a name, --name NAME" in said
    assert "cube_numpy.py" in run("generate", "x**3", "--name", "cube", "--out", "out", "--no-check")
    assert "as printed" in run("generate", "x**3", "--name", "cube", "--out", "out", "--check")
    assert "f_numpy.py" in run("generate", "x**3", "--out", "out", "--no-check", "--force")
    assert "the function has a name, g" in run("generate", "g(x) = x", "--name", "cube", code=2)
    assert "called what it is called there" in run("generate", "layers.py:cube", "--name", "c", code=2)


def test_targets_named_twice_are_printed_once():
    output = run("generate", "layers.py", "layers.py:cube", "--out", "out", "--no-check")
    assert output.count("cube_numpy.py") == 1


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("layer.py", "there is no file layer.py. Did you mean layers.py?"),
        ("layers.py:afine", "layers.py declares no function afine. Did you mean affine?"),
        ("layers.py:zzz", "It declares softmax, scale, affine, cube."),
        ("layers.py:FACTOR", "layers.py:FACTOR is a Python int, and no function"),
        ("empty.py", "empty.py declares no function"),
        ("raises.py", "raises.py:5: NameError: name 'nothing' is not defined\n    return x + nothing"),
        ("exits.py", "exits.py:2: SystemExit: 3"),
        ("syntax.py", "syntax.py:1: SyntaxError"),
        ("lacks.py", "lacks.py:1: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("lacks", "lacks.py:1: ModuleNotFoundError: No module named 'no_such_module_here'"),
        ("no_such_module", "there is no module no_such_module here"),
        ("softmax", "Did you mean symgrad.library:softmax?"),
        ("symgrad.library.softmax", "Did you mean symgrad.library:softmax?"),
        ("pack.shapez", "there is no module pack.shapez here"),
        ("notes.txt", "notes.txt"),
        ("twice.py", "two functions would be written to the folder f"),
        ("", "a TARGET is empty"),
        ("f(x) = y", "y is not known"),
        ("f(x) = x +", "an operand is missing"),
        ("f(oo) = oo", "'oo' is a constant"),
        ("f(x) = __import__('os')", "column"),
        ("f(ｘ) = ｘ", "column"),
        ("../squares(x) = x", "column"),
    ],
)
@pytest.mark.parametrize("command", ["generate", "check", "show"])
def test_mistakes_are_one_message(command, target, said):
    output = run(command, target, code=2)
    assert output.startswith("symgrad: ")
    assert said in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("generate", SQUARES, "--to", "numpyy"), "'numpyy' is no language that symgrad prints. Did you mean numpy?"),
        (("generate", SQUARES, "--to", "fortran"), f"Choose from {', '.join(BACKENDS)}."),
        (("generate", SQUARES, "--to", ""), "is no language"),
        (("generate",), "there is no TARGET, and no pyproject.toml with a table [tool.symgrad]"),
        (("generate", SQUARES, "--check", "--no-check"), "leave --no-check out"),
        (("derive", SQUARES), "No such command 'derive'"),
        (("check", SQUARES, "--fulll"), "--fulll"),
        (("generate", SQUARES, "--lapack"), "--lapack is an option of c. Add c to --to."),
        (
            ("generate", SQUARES, "--wrt", "x", "--to", "scipy"),
            "--wrt is an option of numpy, c, torch and jax. Add numpy to --to. scipy: The unknown is named with "
            "the language, as in --to scipy:w+b.",
        ),
    ],
)
def test_wrong_options(args, said):
    assert said in run(*args, code=2)


# generate


@needs_cc
def test_generate_prints_the_jacobian_writes_and_checks():
    output = run("generate", SQUARES, "--to", "numpy,c", "--out", "out")
    assert output.startswith(f"{SQUARES}\n\nJacobian\n    [ 2 * x   0     ]\n")
    assert "    numpy   agrees with the formula and J^T v   " in output
    assert "    c       agrees with the formula and J^T v   " in output
    assert f"Files\n    {NUMPY}   new\n    out/squares/squares.c          new\n" in output
    assert tree() == ["squares/squares.c", "squares/squares.h", "squares/squares_numpy.py"]
    assert Path(NUMPY).read_text() == printed(resolve([SQUARES]).functions[0], "numpy").files["squares_numpy.py"]
    again = run("generate", SQUARES, "--to", "c,numpy,c", "--out", "out")
    assert again.count("unchanged") == 3


def test_generate_shows_gradients_of_tensors():
    output = run("generate", "symgrad.library:softmax", "--out", "out")
    assert "Gradients\n" in output
    assert "    grad_x[...,j] = out[..., j] * " in output


def test_generate_writes_here_by_default():
    run("generate", SQUARES, "--no-check")
    assert Path("squares/squares_numpy.py").is_file()


def test_files_have_ordinary_permissions():
    run("generate", SQUARES, "--out", "out", "--no-check")
    Path("plain").touch()
    assert stat.S_IMODE(Path(NUMPY).stat().st_mode) == stat.S_IMODE(Path("plain").stat().st_mode)


def test_constant_functions_and_unused_inputs():
    assert "grad_y = 0" in run("show", "f(x[n], y[m]) = sum[i](x[i])")
    run("generate", "f(x, y) = x", "--out", "out")


@pytest.fixture
def wrong(monkeypatch):
    """symgrad with a mistake: it prints 3 * x where it means 2 * x."""

    def mistaken(function, to, options):
        right = printed(function, to, options)
        return replace(right, files={k: v.replace("2 * x", "3 * x") for k, v in right.files.items()})

    monkeypatch.setattr(checking, "printed", mistaken)


def test_code_that_fails_its_check_is_not_written(wrong):
    output = run("generate", "twice(x) = x + x", SQUARES, "--out", "out", code=1)
    assert "numpy   DISAGREES" in output
    assert "grad_x" in output
    assert "expected" in output and "obtained" in output
    assert "no file was written" in output
    assert not Path("out").exists()


def test_a_failing_check_is_a_finding(wrong):
    assert "DISAGREES" in run("check", SQUARES, code=1)
    (report,) = json.loads(run("check", SQUARES, "--json", code=1))
    assert not report["ok"]
    assert report["failures"][0]["expected"]


def test_one_bad_target_and_nothing_is_written():
    run("generate", SQUARES, "f(x) = y", "--out", "out", "--no-check", code=2)
    assert not Path("out").exists()


def test_nothing_is_left_behind_when_the_disk_fails(monkeypatch):
    run("generate", SQUARES, "--out", "out", "--no-check")
    before = Path(NUMPY).read_bytes()
    calls = []

    def failing(descriptor, mode):
        calls.append(mode)
        if len(calls) > 1:
            os.close(descriptor)
            raise OSError(28, "No space left on device", "out")
        return os.fdopen(descriptor, mode)

    monkeypatch.setattr(files, "os", _Os(failing))
    output = run("generate", "squares(x) = x**3", "--to", "numpy,c", "--out", "out", "--no-check", code=2)
    assert "No space left on device" in output
    assert tree() == ["squares/squares_numpy.py"]
    assert Path(NUMPY).read_bytes() == before


class _Os:
    """The module os, with another fdopen."""

    def __init__(self, fdopen):
        self.fdopen = fdopen

    def __getattr__(self, name):
        return getattr(os, name)


def _link_folder():
    Path("elsewhere").mkdir()
    Path("out").mkdir()
    Path("out/squares").symlink_to(Path("elsewhere").resolve())


def _link_file():
    Path("out/squares").mkdir(parents=True)
    Path(NUMPY).symlink_to(Path("beside.py").resolve())


def _dangling_link():
    Path("out/squares").mkdir(parents=True)
    Path(NUMPY).symlink_to(Path("nowhere.py").resolve())


def _hand_written():
    Path("out/squares").mkdir(parents=True)
    Path(NUMPY).write_text("mine = 1\n")


def _folder_in_the_way():
    Path(NUMPY).mkdir(parents=True)


def _file_in_the_way():
    Path("out").mkdir()
    Path("out/squares").write_text("")


def _out_is_a_file():
    Path("out").write_text("")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (_link_folder, "out/squares is a symbolic link"),
        (_link_file, f"{NUMPY} is a symbolic link"),
        (_dangling_link, f"{NUMPY} is a symbolic link"),
        (_hand_written, f"{NUMPY} was not printed by symgrad"),
        (_folder_in_the_way, f"{NUMPY} is a folder"),
        (_file_in_the_way, "out/squares is a file"),
        (_out_is_a_file, "out is a file"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_never_writes_over_what_is_not_its_own(prepare, said):
    prepare()
    before = {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()}
    assert said in run("generate", SQUARES, "--out", "out", "--no-check", code=2)
    assert {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()} == before


def test_what_was_changed_by_hand_is_written_over_only_by_force():
    run("generate", SQUARES, "--out", "out", "--no-check")
    edited = Path(NUMPY).read_text().replace("return (x**2,", "return (x**3,")
    Path(NUMPY).write_text(edited)
    said = f"{NUMPY} was changed after symgrad printed it: its checksum is another."
    assert said in run("generate", SQUARES, "--out", "out", "--no-check", code=2)
    assert Path(NUMPY).read_text() == edited
    run("generate", SQUARES, "--out", "out", "--no-check", "--force")
    assert "return (x**2," in Path(NUMPY).read_text()


def test_a_checksum_survives_other_line_ends():
    run("generate", SQUARES, "--out", "out", "--no-check")
    Path(NUMPY).write_bytes(Path(NUMPY).read_bytes().replace(b"\n", b"\r\n"))
    run("generate", SQUARES, "--out", "out", "--no-check")
    assert b"\r" not in Path(NUMPY).read_bytes()


def test_what_a_killed_process_has_left_goes():
    Path("out/squares").mkdir(parents=True)
    old, new = Path("out/squares/.squares_numpy.py-abc"), Path("out/squares/.squares_numpy.py-def")
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (0, 0))
    run("generate", SQUARES, "--out", "out", "--no-check")
    assert not old.exists() and new.exists(), "somebody may still be writing the new one"


# generate --check


@pytest.mark.parametrize("command", [("check",), ("check", "--no-stabilize"), ("generate", "--out", "out")])
def test_the_users_own_function_is_asked(command):
    """What is traced is no array of NumPy's, which the function asks for."""
    Path("asks.py").write_text(
        "import numpy as np\nimport symgrad as sg\n\n\n@sg.function\ndef f(x: sg.Tensor['n'], y: sg.Tensor['n']):\n"
        "    return 2 * x * y if isinstance(x, np.ndarray) else x * y\n"
    )
    assert "your function, called with arrays, gives" in run(command[0], "asks.py", *command[1:], code=1)


def test_check_mode_of_current_files():
    run("generate", "layers.py", "--to", "numpy,c", "--out", "out", "--no-check")
    both = run("generate", "layers.py", "--to", "numpy,c", "--out", "out", "--check")
    assert both == "9 files in out are as printed.\n"
    assert run("generate", "layers.py", "--out", "out", "--check") == "3 files in out are as printed.\n"


def test_check_mode_prints_a_diff_and_writes_nothing():
    run("generate", SQUARES, "--out", "out", "--no-check")
    edited = Path(NUMPY).read_text().replace("return (x**2,", "return (x**3,")
    Path(NUMPY).write_text(edited)
    output = run("generate", SQUARES, "--out", "out", "--check", code=1)
    assert output.startswith(f"--- {NUMPY}\n+++ {NUMPY} (as printed)\n@@ ")
    assert "\n-    return (x**3, x * y, y**2), (x, y)\n+    return (x**2, x * y, y**2), (x, y)\n" in output
    assert f'Print them again: symgrad generate "{SQUARES}" --to numpy --out out' in output
    assert Path(NUMPY).read_text() == edited


def test_check_mode_sees_line_ends():
    run("generate", SQUARES, "--out", "out", "--no-check")
    Path(NUMPY).write_bytes(Path(NUMPY).read_bytes().replace(b"\n", b"\r\n"))
    assert "differs only in how lines end" in run("generate", SQUARES, "--out", "out", "--check", code=1)


def test_check_mode_sees_missing_files():
    assert f"{NUMPY}: missing" in run("generate", SQUARES, "--out", "out", "--check", code=1)
    assert not Path("out").exists()


def test_check_mode_sees_files_that_nothing_prints():
    run("generate", "pack.shapes", "--out", "out", "--no-check")
    shutil.copy("out/area/area_numpy.py", "out/area/area_old.py")
    Path("out/area/notes.md").write_text("mine")
    output = run("generate", "pack.shapes:area", "--out", "out", "--check", code=1)
    assert output.startswith("out/area/area_old.py: stale")
    assert "notes.md" not in output


def test_check_mode_of_one_language_beside_another():
    """Also where a third could not print the function at all."""
    run("generate", "f(a[n,n]) = det(a)", "--to", "numpy,torch", "--out", "out", "--no-check")
    assert run("generate", "f(a[n,n]) = det(a)", "--out", "out", "--check") == "1 file in out is as printed.\n"


def test_what_two_languages_print_is_one_file():
    output = run("generate", SQUARES, "--to", "c,torch_c", "--out", "out", "--no-check")
    assert output.count("out/squares/") == 3
    again = run("generate", SQUARES, "--to", "torch_c,c", "--out", "out", "--check")
    assert again == "3 files in out are as printed.\n"


def test_check_mode_sees_functions_that_are_gone():
    run("generate", "pack.shapes", "--out", "out", "--no-check")
    run("generate", SQUARES, "--out", "out", "--no-check")
    assert run("generate", "pack", "--out", "out", "--check") == "1 file in out is as printed.\n"
    text = Path("pack/shapes.py").read_text()
    Path("pack/shapes.py").write_text(text.replace("def volume", "def cube"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "pack"]:
        del sys.modules[name]
    output = run("generate", "pack.shapes", "--out", "out", "--check", code=1)
    assert "out/cube/cube_numpy.py: missing" in output
    assert "out/volume/volume_numpy.py: stale, nothing prints it any more" in output
    assert "squares" not in output


# check, show


@needs_cc
def test_check_reports():
    lines = run("check", SQUARES, "--to", "numpy,c").splitlines()
    assert lines[0].startswith("squares   numpy   agrees with the formula and J^T v   ")
    assert lines[1].startswith("squares   c   agrees with the formula and J^T v   ")
    assert not Path("squares").exists()


@needs_cc
def test_several_processes_report_the_same_in_the_same_order():
    asked = ("check", SQUARES, "symgrad.library:linear", "symgrad.library:median", "--to", "numpy,c")
    alone = run(*asked)
    assert run(*asked, "--jobs", "3") == alone
    assert [line.split()[:2] for line in alone.splitlines()][:2] == [["squares", "numpy"], ["squares", "c"]]


def test_a_check_that_runs_out_of_time():
    output = run("check", "symgrad.library:mlp", "--seconds", "0.01", code=3)
    assert re.fullmatch(r"mlp   numpy   NOT FINISHED   .*; the (0.01 s|time) ran out, and the rest .*\n", output)
    assert not json.loads(run("check", "symgrad.library:mlp", "--seconds", "0.01", "--json", code=3))[0]["ok"]


def test_check_as_json():
    (report,) = json.loads(run("check", SQUARES, "--json"))
    assert report["ok"] and report["function"] == "squares" and report["target"] == "numpy"
    assert report["points"] > 10 and report["worst"]["ulps"] < 8 and report["failures"] == []


@needs_cc
def test_check_writes_junit_xml(wrong):
    run("check", SQUARES, "g(a[n,n]) = det(a)", "--to", "numpy,c", "--junit", "out.xml", code=1)
    suite = ElementTree.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "1")
    cases = [(case.get("classname"), case.get("name"), [part.tag for part in case]) for case in suite]
    assert cases[0] == ("squares", "numpy", ["failure", "system-out"])
    assert cases[3] == ("g", "c", ["skipped"])
    assert "DISAGREES" in suite[0].find("failure").get("message")


def test_a_failure_names_the_command_that_shows_it_alone(wrong):
    output = run("check", SQUARES, code=1)
    (line,) = {line for line in output.splitlines() if "reproduce" in line and line.endswith("--case 0")}
    words = shlex.split(line.split("reproduce")[1])
    assert words == ["symgrad", "check", SQUARES, "--to", "numpy", "--case", "0"]
    assert line in run(*words[1:], code=1)
    assert "there is no case 999" in run("check", SQUARES, "--case", "999", code=1)


def test_another_seed_draws_other_points():
    one, other = (json.loads(run("check", SQUARES, "--json", "--seed", seed))[0] for seed in ("0", "1"))
    assert one["ok"] and other["ok"] and one["worst"] != other["worst"]


def test_a_mistake_of_symgrads_own_is_one_message(monkeypatch):
    def stumbles(*args):
        raise KeyError("no such stage")

    monkeypatch.setattr(checking, "resolve", stumbles)
    output = run("show", SQUARES, code=2)
    said = "symgrad: this is a mistake in symgrad, and not in what was asked: KeyError: 'no such stage'"
    assert output.startswith(said)
    assert "SYMGRAD_TRACEBACK=1" in output and "Traceback" not in output
    monkeypatch.setenv("SYMGRAD_TRACEBACK", "1")
    assert isinstance(CliRunner().invoke(cli.main, ["show", SQUARES]).exception, KeyError)


def test_show():
    output = run("show", "symgrad.library:sigmoid", "--to", "numpy,c")
    for part in (
        "sigmoid(x) = 1 / (1 + exp(-x))\n\nJacobian\n    [ sigmoid_slope(x) ]\n",
        "J^T v, before it is simplified (v = grad_output)\n    out[...] = 1 / (1 + exp(-x[...]))\n",
        "J^T v, simplified\n    out[...] = sigmoid(x[...])\n",
        "\nsigmoid/sigmoid_numpy.py\n\n",
        "\ndef backward(saved, grad_output=None",
        "\nsigmoid/sigmoid.c\n\n/*\n",
    ):
        assert part in output
    assert not Path("sigmoid").exists()


def test_show_accuracy():
    lines = run("show", "f(x) = (exp(x) - 1)/x", "--to", "numpy", "--accuracy").splitlines()
    start = lines.index("Bits lost in float64, on average and at most")
    out, printed_out, grad, printed_grad = lines[start + 1 : start + 5]
    assert out.split()[:3] == ["out", "as", "written"] and grad.split()[:3] == ["grad_x", "as", "written"]
    for before, after in ((out, printed_out), (grad, printed_grad)):
        mean = [float(line.partition("as ")[2].split()[1]) for line in (before, after)]
        assert mean[1] < mean[0] and " at x = " in after


def test_show_latex():
    output = run("show", SQUARES, "--latex")
    matrix = "\\left[\\begin{matrix}2 x & 0\\\\y & x\\\\0 & 2 y\\end{matrix}\\right]"
    assert output.startswith(f"J = {matrix}\n\n\\begin{{aligned}}\n")
    assert run("show", "symgrad.library:softmax", "--latex").startswith("\\begin{aligned}\n")


# without a compiler


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("'x", "the environment variable CC cannot be read as a command: 'x (No closing quotation)"),
        ("false", "the C compiler does not work: false -std=c99"),
        ("{python} -c 'import sys; sys.exit(\"no licence\")'", "fails: no licence"),
        ("{python} -c 'import time; time.sleep(9)'", "has not ended after 0 seconds"),
    ],
)
def test_a_compiler_that_does_not_work_is_the_machines(command, said, monkeypatch):
    monkeypatch.setenv("CC", command.replace("{python}", sys.executable))
    if "sleep" in command:
        monkeypatch.setattr("symgrad.backends.c_compile.TRIED", 0.3)
    output = run("generate", SQUARES, "--to", "numpy,c", "--out", "out", code=2)
    assert said in output and "c       could not be checked here" in output and len(tree()) == 3


@pytest.fixture
def no_compiler(monkeypatch):
    """A machine without a C compiler."""
    monkeypatch.setenv("CC", "no-such-compiler")


def test_generate_without_a_compiler_writes_and_says_so(no_compiler):
    output = run("generate", SQUARES, "--to", "numpy,c", "--out", "out", code=2)
    assert "numpy   agrees" in output
    assert "c       could not be checked here" in output
    assert "symgrad: not everything could be checked. squares: there is no C compiler here (no-such-compiler)" in output
    assert "apt install gcc" in output
    assert len(tree()) == 3


def test_generate_without_a_compiler_and_without_a_check(no_compiler):
    run("generate", SQUARES, "--to", "c", "--out", "out", "--no-check")


def test_check_without_a_compiler(no_compiler):
    output = run("check", SQUARES, "layers.py:cube", "--to", "numpy,c", code=2)
    assert output.count("agrees") == 2
    assert "(and 1 more like it)" in output


def test_c_that_the_compiler_refuses_is_a_finding(monkeypatch):
    def refused(name, *how):
        raise CompilerError(f"{name}: cc failed: error: expected ';'")

    monkeypatch.setattr("symgrad.backends.c.c_compile.compile_library", refused)
    assert "the compiler refuses it" in run("generate", SQUARES, "--to", "c", "--out", "out", code=1)
    assert "expected ';'" in run("check", SQUARES, "--to", "c", code=1)
    assert not Path("out").exists()


# completion


@pytest.mark.parametrize(
    ("words", "incomplete", "found"),
    [
        (["generate"], "lay", ["layers.py"]),
        (["generate"], "pack/s", ["pack/shapes.py"]),
        (["generate"], "pa", ["pack/"]),
        (["check"], "symgrad.l", ["symgrad.library"]),
        (["generate"], "layers.py:", ["layers.py:_private", "layers.py:affine", "layers.py:cube", "layers.py:scale"]),
        (["show"], "symgrad.library:softmin", ["symgrad.library:softmin"]),
        (["generate", "layers.py"], ":", ["_private", "affine", "cube", "scale"]),  # as bash takes it apart
        (["explain", "layers.py", ":"], "cu", ["cube"]),
        (["generate", "no_such.py", ":"], "cu", []),
        (["generate", SQUARES, "--to"], "numpy,t", ["numpy,torch", "numpy,torch_c", "numpy,triton"]),
        (["generate", SQUARES, "--functions"], "forward,hessian:", ["forward,hessian:sparse"]),
        (["generate", "--sav"], "--sav", ["--save"]),
        ([], "gen", ["generate"]),
    ],
)
def test_completion(words, incomplete, found):
    complete = ShellComplete(cli.main, {}, "symgrad", "_SYMGRAD_COMPLETE")
    assert [item.value for item in complete.get_completions(words, incomplete)] == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(shell):
    if shell != "bash" or shutil.which("bash"):
        assert f"_SYMGRAD_COMPLETE={shell}_complete" in run("completion", shell)


# the process


def test_as_a_process(folder):
    line = [sys.executable, "-m", "symgrad"]
    command = [*line, "generate", "layers:scale", "--out", "out"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert Path("out/scale/scale_numpy.py").is_file()
    used = "from scale_numpy import forward; import numpy, sys; forward(numpy.ones(2), numpy.ones(2)); "
    used += "assert not any(m.startswith(('symgrad', 'sympy')) for m in sys.modules)"
    subprocess.run([sys.executable, "-c", used], cwd=folder / "out" / "scale", check=True)


def test_mistakes_go_to_stderr(folder):
    line = [sys.executable, "-m", "symgrad", "generate", "f(x) = y"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("symgrad: column 8: y is not known")


def test_version_and_help():
    assert run("--version").startswith("symgrad 0.")
    for command in ("generate", "check", "show"):
        assert "TARGET" in run(command, "--help")
        assert f"  {command} " in run("--help")
