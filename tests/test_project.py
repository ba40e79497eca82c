"""A project: what [tool.symgrad] of pyproject.toml says, and what the commands make of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from symgrad import cli
from symgrad.cli import config, kept
from symgrad.cli.config import project
from symgrad.cli.ways import OfOneRun

LAYERS = """
import symgrad as sg
from beside import FACTOR

@sg.function
def scale(x, y):
    return FACTOR * x * y

cube = sg.parse("cube(x) = x**3 for x > 0")
"""
TABLE = '[tool.symgrad]\nfunctions = ["layers.py"]\nout = "printed"\n'
NUMPY, SCALE = ["scale numpy", "cube numpy"], Path("printed/scale/scale_numpy.py")

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with two declarations and a table."""
    for name, text in {"layers.py": LAYERS, "beside.py": "FACTOR = 2\n", "pyproject.toml": TABLE}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    forget()


def forget():
    """As in another process."""
    sys.modules.pop("beside", None)


def run(*args, code=0):
    """What the command prints; it must end with that exit code."""
    forget()
    result = CliRunner().invoke(cli.main, [*args, *["--jobs=1"] * (args[0] in ("generate", "check"))])
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.output


def table(more, first='functions = ["layers.py"]'):
    """Write another table."""
    Path("pyproject.toml").write_text(f"[tool.symgrad]\n{first}\n{more}\n")


def done(*args, code=0):
    """The functions and languages that a command has had to do."""
    lines = [line.split("   ") for line in run(*args, code=code).splitlines()]
    return [f"{line[0]} {line[1]}" for line in lines if len(line) > 2 and line[1] in ("numpy", "c", "torch")]


# the table


def test_the_keys_are_the_options_of_the_command():
    options = {p for name in config.COMMANDS for p in cli.main.commands[name].params if isinstance(p, click.Option)}
    for option in options:
        if isinstance(option, OfOneRun):
            continue
        key = config._key(option)
        value = {"json": "true", "to": '["numpy", "c"]', "print": '["forward"]', "checkpoint": "4", "seconds": "0.5"}
        some = option.type.choices[0] if isinstance(option.type, click.Choice) else "name"
        number = isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
        text = value.get(key, "true" if option.is_flag else "3" if number else f'"{some}"')
        table(f"{key} = {text}" + '\nto = ["c", "numpy", "scipy"]' * (key != "to"))
        asked = [project(cli.main, name).asked for name in config.COMMANDS]
        assert any(option.name in found and found[option.name] != option.default for found in asked), key


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('langages = "c"', "pyproject.toml: [tool.symgrad]: there is no key langages."),
        ("strict_domain = true", "there is no key strict_domain. Did you mean strict-domain?"),
        ("zzz = 1", "there is no key zzz. It takes functions, to, "),
        ("force = true", "force is about one run. Say it there, --force, and take it out of the table."),
        ('to = ["numpyy"]', "[tool.symgrad] to: 'numpyy' is no language that symgrad prints. Did you mean numpy?"),
        ('to = ["c", 3]', "to = ['c', 3]: it is what --to takes, a text, a number, or a list of texts."),
        ("lapack = 1", "lapack = 1: it is true or false."),
        ("lapack = true", "--lapack is an option of c. Add c to --to."),
        ("jobs = 0", "[tool.symgrad] jobs: 0 is not in the range x>=1."),
        ('save = "some"', "[tool.symgrad] save: 'some' is not one of 'minimal', 'balanced', 'all'."),
        ("functions = []", "Cannot overwrite a value"),
        ("overrides = 3", "overrides = 3: it is a list."),
        ("[[tool.symgrad.overrides]]\nto = ['c']", "[[tool.symgrad.overrides]] 1: functions is missing, or empty"),
        ("[[tool.symgrad.overrides]]\nfunctions = ['scal']", "no function is called scal. Did you mean scale?"),
        ("[[tool.symgrad.overrides]]\nfunctions = ['cube']\njobs = 2", "jobs is about the whole project. Move it"),
        ("[[tool.symgrad.overrides]]\nfunctions = ['cube']\nto = ['d']", "overrides]] 1 to: 'd' is no language"),
        ("[[tool.symgrad.overrides]]\nfunctions = ['cube']\nblas = true", "overrides]] 1: --blas is an option of c."),
        ("strict-domain = true\n[[tool.symgrad.overrides]]\nfunctions = ['cube']\nsave = 'all'", "none is declared"),
        ("[tool", "cannot be read as TOML: "),
    ],
)
def test_mistakes_in_the_table_say_where(more, said):
    table(more)
    output = run("generate", code=2)
    assert output.startswith("symgrad: ") and said in output


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("", "pyproject.toml: [tool.symgrad]: functions is missing, or empty, or no list of texts. It has TARGETs"),
        ('functions = "layers.py"', "functions = 'layers.py': it is a list."),
        ('functions = ["layer.py"]', "there is no file layer.py. Did you mean layers.py?"),
    ],
)
def test_mistakes_in_the_functions_say_so(first, said):
    table("", first)
    assert said in run("check", code=2)


def test_a_function_has_its_own_table():
    table(
        'to = ["numpy"]\nno-check = true\nout = "printed"\n[[tool.symgrad.overrides]]\nfunctions = ["cube"]\n'
        'to = ["c", "torch"]\nprefix = "my_"\nout = "elsewhere"'
    )
    run("generate")
    assert {p.as_posix() for p in Path().glob("*/*/*")} == {
        SCALE.as_posix(), "elsewhere/cube/my_cube.c", "elsewhere/cube/my_cube.h", "elsewhere/cube/cube_torch.py"
    }  # fmt: skip
    assert run("generate", "--check") == "4 files in printed and elsewhere are as printed.\n"


def test_the_command_line_says_the_last():
    table('to = ["c"]\nlapack = true\nno-check = true')
    assert project(cli.main, "generate", ["--to", "numpy"]).work.ways[0][1].languages == ("numpy",)
    assert "cube_numpy.py" in run("generate", "--to", "numpy")


def test_functions_of_one_file_stand_in_one_file():
    table('to = ["c"]\nfile = "both"\nno-check = true')
    assert run("generate").count("new") == 2
    assert run("generate") == "0 printed, 2 unchanged\n"
    Path("beside.py").write_text("FACTOR = 3\n")
    assert "2 printed" in run("generate"), "of what stands in one file, both change"
    table('to = ["c"]\nfile = "both"\nno-check = true\n[[tool.symgrad.overrides]]\nfunctions = ["cube"]\nblas = true')
    assert "both.c would be printed in two ways" in run("generate", code=2)


def test_the_table_is_found_from_a_folder_below(monkeypatch, folder):
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    run("generate", "--no-check")
    assert (folder / SCALE).is_file()
    assert Path.cwd() == folder / "below"


# what did not change


def test_what_did_not_change_is_left_alone(monkeypatch):
    assert done("generate") == NUMPY
    assert run("generate") == "0 printed, 2 unchanged\n"
    assert run("check") == "0 checked, 2 unchanged\n"
    assert run("generate", "--check") == "2 files in printed are as printed.\n"
    assert done("check", "--seed", "1") == NUMPY, "other points are another check"
    assert run("generate") == "0 printed, 2 unchanged\n"
    assert done("generate", "--all") == NUMPY
    monkeypatch.setattr(kept, "_symgrad", lambda: "another version")
    assert done("generate") == NUMPY


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (lambda: Path("beside.py").write_text("FACTOR = 3\n"), ["scale numpy"]),
        (lambda: Path("layers.py").write_text(LAYERS.replace("x**3", "x**4")), ["cube numpy"]),
        (lambda: Path("layers.py").write_text(LAYERS.replace("x > 0", "x > 1")), ["cube numpy"]),
        (lambda: Path("layers.py").write_text(LAYERS + "\n# more\n"), []),
        (lambda: table('out = "printed"\nsave = "all"'), NUMPY),
        (lambda: table('out = "other"'), NUMPY),
        (lambda: table('out = "printed"\nto = ["numpy", "torch"]'), ["scale torch", "cube torch"]),
        (SCALE.unlink, ["scale numpy"]),
        (lambda: shutil.rmtree(kept.FOLDER), NUMPY),
        (lambda: Path(kept.FOLDER, "printed.json").write_text("{"), NUMPY),
    ],
    ids=range(10),
)
def test_what_changed_is_done_again(change, again):
    run("generate", "--no-check")
    assert done("generate", "--no-check") == []
    change()
    assert done("generate", "--no-check") == again
    assert run("generate", "--no-check").endswith("unchanged\n")


def test_what_nothing_prints_any_more_is_stale():
    table('to = ["numpy", "c"]\nout = "printed"\nno-check = true')
    run("generate")
    Path("layers.py").write_text(LAYERS.partition("cube")[0])
    table('to = ["c"]\nout = "printed"\nno-check = true')
    output = run("generate", "--check", code=1)
    assert [line.partition(": stale")[0] for line in output.splitlines() if "stale" in line] == [
        SCALE.as_posix(), *(f"printed/cube/cube{end}" for end in (".c", ".h", "_numpy.py"))
    ]  # fmt: skip


def test_what_was_not_checked_is_checked():
    run("generate", "--no-check")
    assert done("generate") == NUMPY


def test_what_was_changed_by_hand_is_no_secret():
    run("generate", "--no-check")
    SCALE.write_text(SCALE.read_text().replace("2 * x", "3 * x"))
    assert "was changed after symgrad printed it" in run("generate", "--no-check", code=2)
    assert "+++ printed/scale/scale_numpy.py (as printed)" in run("generate", "--check", code=1)


def test_the_users_own_operator_is_asked_again():
    Path("layers.py").write_text(
        "import symgrad as sg\nlift = sg.primitive('lift', 'cl(a)', value=lambda a: a * a, derivative='2*a')\n"
        "\n@sg.function\ndef scale(x):\n    return lift(x)\n"
    )
    table('to = ["c"]\nno-check = true')
    assert "1 printed" in run("generate") and "1 printed" in run("generate")


@needs_cc
def test_several_processes_do_the_same(folder):
    table('to = ["numpy", "c"]\nout = "printed"')
    line = [sys.executable, "-m", "symgrad", "generate"]
    first = subprocess.run([*line, "--jobs", "2"], cwd=folder, capture_output=True, text=True, check=True)
    assert first.stdout.endswith("4 printed\n") and first.stderr == ""
    assert run("generate") == "0 printed, 4 unchanged\n"


# init, quiet, watch


def test_init_writes_the_table():
    Path("pyproject.toml").write_text('[project]\nname = "mine"')
    Path("test_it.py").write_text(LAYERS)
    said = run("init", "--to", "numpy,c")
    assert 'functions = ["layers.py"]' in said and "Print what it names: symgrad generate" in said
    assert Path("pyproject.toml").read_text() == (
        '[project]\nname = "mine"\n\n[tool.symgrad]\nfunctions = ["layers.py"]\nto = ["numpy", "c"]\n'
        'out = "generated"\n'
    )
    assert "scale_numpy.py" in run("generate", "--no-check")
    assert "has a table [tool.symgrad] already" in run("init", code=2)


def test_init_of_an_empty_folder(folder):
    for path in folder.iterdir():
        path.unlink()
    assert "no file of this folder declares a function with symgrad" in run("init", code=2)
    run("init", 'f(x) = "x"')
    assert project(cli.main, "generate").work.targets == ('f(x) = "x"',)


def test_quietly():
    assert run("generate", "-q") == run("generate", "--quiet") == run("check", "-q") == run("generate", "--check", "-q")
    table('out = "printed"\nquiet = true')
    assert run("generate") == ""
    Path("beside.py").write_text("FACTOR = 3\n")
    assert "scale_numpy.py" in run("generate", "--check", code=1)


def test_watch_prints_again_when_a_declaration_changes(folder):
    line = [sys.executable, "-m", "symgrad", "generate", "--no-check", "--watch"]
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr.readline().startswith("watching 4 files")
            (folder / "beside.py").write_text("FACTOR = 5  # longer\n")
            assert process.stderr.readline().startswith("watching 4 files")
            assert "5 * x" in (folder / SCALE).read_text()
        finally:
            process.kill()


def test_a_depfile_names_what_was_read(folder):
    run("generate", "--no-check", "--depfile", "scale.d")
    made, needed = Path("scale.d").read_text().split(":")
    assert made.split() == [SCALE.as_posix(), "printed/cube/cube_numpy.py"]
    assert sorted(Path(name).name for name in needed.split()) == ["__init__.py", "beside.py", "layers.py"]


def test_files_that_lie_flat():
    run("generate", "--flat", "--no-check")
    assert sorted(p.name for p in Path("printed").iterdir()) == ["cube_numpy.py", "scale_numpy.py"]
    assert run("generate", "--flat", "--check") == "2 files in printed are as printed.\n"


# diff


def another(text, name="layers.py", of=LAYERS):
    """Declare it in another way."""
    before, after = text
    Path(name).write_text(of.replace(before, after))


@pytest.mark.parametrize(
    ("change", "said", "code"),
    [
        (("# nothing", ""), ["0 of 2 differ"], 0),
        (
            ("FACTOR * x * y", "x * FACTOR * y"),
            ["scale   numpy   the text", "    the old code computes what is declared now", "1 of 2 differ"],
            1,
        ),
        (
            ("x**3", "x**3 + 1"),
            ["cube   numpy   the text", "    the old code does not compute what is declared now",
             "        out[0]: expected ", "1 of 2 differ, and 1 in what they compute"],
            1,
        ),
        (
            ("scale(x, y):\n    return FACTOR * x * y", "scale(x, z):\n    return FACTOR * x * z"),
            ["scale   numpy   called in another way", "    -forward(x, y)", "    +forward(x, z)",
             "    the old code is not run: it is called otherwise", "1 of 2 differ"],
            1,
        ),
        (("cube(x)", "third(x)"), ["cube   numpy   only in what is old", "third   numpy   only in what is new"], 1),
        (("def scale(x, y):", "def scale(y, x):\n    x, y = y, x"), ["    -forward(x, y)", "    +forward(y, x)"], 1),
        (("for x > 0", "for x > 0.5"), ["cube   numpy   the"], 1),
        (("> 0", "> 0 0"), ["symgrad: column 26: here the declaration ends."], 2),
    ],
    ids=range(8),
)  # fmt: skip
def test_diff_says_what_would_be_printed_otherwise(change, said, code):
    run("generate", "--no-check")
    another(change)
    output = run("diff", "printed", code=code)
    assert [line for line in said if f"\n{line}" not in f"\n{output}"] == []


@needs_cc
def test_diff_of_two_folders():
    table('to = ["numpy", "c"]\nout = "old"\nno-check = true')
    run("generate")
    another(("cube(x) = x**3", "third(x) = x**3"))
    Path("beside.py").write_text("FACTOR = 3\n")
    table('to = ["numpy", "c"]\nout = "new"\nno-check = true')
    run("generate")
    output = run("diff", "old", "new", "--jobs", "1", code=1)
    for line in (
        "cube   c   only in what is old",
        "third   numpy   only in what is new",
        "scale   c   the text",
        "    the old code does not compute what is declared now",
        "    the new code computes what is declared now",
        "6 of 6 differ, and 2 in what they compute",
    ):
        assert line in output.splitlines()
    assert "+ * scale(x, y) = 3 * x * y" in run("diff", "old", "new", "--no-run", "--text", code=1)
    assert "nothing is no folder" in run("diff", "nothing", code=2)
    assert "is no file that symgrad has printed" in run("diff", ".", code=2)


def test_diff_without_a_project_prints_again_what_heads_say():
    Path("pyproject.toml").unlink()
    run("generate", "layers.py:scale", "x**2", "--no-check", "--out", "printed", "--functions", "forward")
    assert run("diff", "printed") == "0 of 2 differ\n"
    another(("def scale", "def times"))
    assert "    not printed any more: layers.py declares no function scale." in run("diff", "printed", code=1)


# pytest

INSTALLED = any(point.name == "symgrad" for point in entry_points(group="pytest11"))
TESTS = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"]
TESTS += [] if INSTALLED else ["-p", "symgrad.pytest_plugin"]


def test_the_plugin_makes_a_test_of_each_function(folder):
    more = '\nflipped = sg.parse("flipped(a[n,n]) = det(a)")\n'
    Path("layers.py").write_text(LAYERS + more)
    table('to = ["numpy", "c"]\nno-check = true\nout = "printed"')
    run("generate")
    SCALE.write_text(SCALE.read_text().replace("2 * x", "3 * x"))
    (folder / "tests").mkdir()
    (folder / "tests" / "test_own.py").write_text("def test_own():\n    pass\n")

    def tests(*args):
        done = subprocess.run([*TESTS, *args], cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout

    code, said = tests("--symgrad", "-rfs", "-o", "testpaths=tests")
    assert code == 1 and "1 failed, 5 passed, 1 skipped" in said
    assert "FAILED pyproject.toml::scale[numpy]" in said and "-    out = 3 * x * y" in said
    assert "Print it again: symgrad generate" in said and "Traceback" not in said
    assert "1 passed" in tests("--symgrad", "pyproject.toml::cube[numpy]")[1]
    assert "1 passed" in tests("-o", "testpaths=tests")[1], "who does not ask for it has none of it"


def test_what_is_installed_beside_is_imported_as_it_stands(pytestconfig):
    """pytest rewrites the modules of plugins that it finds by itself: a file templates/numpy.py makes NumPy one."""
    hook = pytestconfig.pluginmanager.rewrite_hook
    assert [name for name in ("numpy", "torch", "jax") if hook.find_spec(name)] == []
