"""What was tried against symgrad, and what must come of it: rows for `test_threats`, and for docs/trust.md.

A row is tried in an empty folder and gives one line of what happened; it raises where that is not what must. No row may
leave a file that it did not ask for, run text as code, take long, or show a traceback.
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import symgrad as sg
from symgrad import cli
from symgrad.errors import SymgradError

ROOT = Path(cli.__file__).parents[2]
PROCESS = [sys.executable, "-m", "symgrad"]
PWNED = Path("PWNED")
BODY = "import symgrad as sg\n\n\n@sg.function\ndef f(x):\n    return x**2\n"


def command(*args, code=2, **environment):
    """What the command says, in a process of its own; it must end with that exit code, and without a traceback."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([*PROCESS, *args], capture_output=True, text=True, env=env, timeout=60, check=False)
    said = done.stderr + done.stdout
    assert done.returncode == code, f"exit code {done.returncode}: {said}"
    assert "Traceback" not in said, said
    assert not PWNED.exists(), "it ran"
    return said


def refused(text, fragment, to=None):
    """Formula text that the parser refuses, without running or building any of it; or the printer of a language."""

    def attempt():
        start = time.perf_counter()
        try:
            declared = sg.parse(text)
            if to is not None:
                sg.generate(declared, to=to, check=False)
        except SymgradError as error:
            said = str(error)
        else:
            raise AssertionError("it was accepted")
        assert time.perf_counter() - start < 10, "it took long"
        assert fragment in said and len(said) < 1000 and not PWNED.exists(), said
        return f"refused: {said.splitlines()[0][:100]}"

    return attempt


FORMULAS = {
    "a call that runs a program": ('f(x) = __import__("os").system("touch PWNED")*x', "column"),
    "an attribute": ("f(x) = x.__class__.__init__.__globals__", "A name has no attributes"),
    "a string for sympify": ("f(x) = sin(\"__import__('os').system('touch PWNED')\")", "A formula holds no strings"),
    "a lambda": ("f(x) = (lambda: x)()", "column"),
    "an f-string": ("f(x) = f'{x}'", "column"),
    "a function nobody declared": ("f(x) = eval(x)", "eval is not known"),
    "a subscript of a dunder": ("f(x) = __builtins__[x]", "column"),
    "a name with two underscores": ("f(__x) = __x", "'__x'"),
    "a name of Python": ("f(None, x) = None*x", "is a keyword of Python", "numpy"),
    "a name of C": ("f(restrict) = restrict", "is a keyword of C", "c"),
    "a header of C": ("string(x) = x", "string.h would hide C's own", "c"),
    "a device as the name of a folder": ("aux(x) = x", "is a device of Windows"),
    "a path as a name": ("../f(x) = x", "column"),
    "an absolute path as a name": ("/tmp/f(x) = x", "column"),
    "look-alike letters": ("f(x, ｘ) = x*ｘ", "ASCII"),
    "the Kelvin sign": ("f(K, \u212a) = K", "KELVIN SIGN"),
    "a NUL": ("f(x) = x\0", "column"),
    "the end of a C comment": ("f(x) = x */ int main(void) { return 1; } /*", "column"),
    "the end of a docstring": ('f(x) = x\n"""\nimport os\n"""', "A formula holds no strings"),
    "a line of the preprocessor": ("f(x) = x\n#define x 3", "A formula holds no comments"),
    "a trigraph": ("f(x) = x ??/", "column"),
    "a backslash at the end": ("f(x) = x \\", "column"),
    "another encoding": ("# -*- coding: utf-7 -*-\nf(x) = x", "column"),
    "9**9**9": ("f(x) = 9**9**9*x", "an exponent is at most"),
    "2**10**10": ("f(x) = 2**10**10*x", "an exponent is at most"),
    "x**10**10**10": ("f(x) = x**10**10**10", "an exponent is at most"),
    "1e999999999": ("f(x) = 1e999999999*x", "beyond the range of a double"),
    "1e-400": ("f(x) = 1e-400*x", "beyond the range of a double"),
    "factorial(10**8)": ("f(x) = factorial(10**8)*x", "is not a number of double precision"),
    "bernoulli(10**5)": ("f(x) = bernoulli(10**5)*x", "bernoulli is not known"),
    "an integer of 5,000 digits": (f"f(x) = {'9' * 5000}*x", "digits"),
    "a number of 19,000 digits": (f"f(x) = 0.{'1' * 19000}*x", "digits"),
    "100,000 parentheses": (f"f(x) = {'(' * 100_000}x{')' * 100_000}", "at most 20000 are read"),
    "9,000 parentheses": (f"f(x) = {'(' * 9_000}x{')' * 9_000}", ""),
    "65 parentheses": (f"f(x) = {'(' * 65}x{')' * 65}", "64"),
    "100,000 minus signs": (f"f(x) = {'-' * 100_000}x", "at most 20000 are read"),
    "a megabyte of text": (f"f(x) = {'x+' * 500_000}x", "at most 20000 are read"),
    "a sum of 6,000 terms": (f"f(x) = {'x+' * 6_000}x", "at most 5000 names, numbers and signs"),
    "a tower of powers": (f"f(x) = {'x**' * 200}x", ""),
    "a division by nothing": ("f(x) = x/0", "divides by zero"),
    "an infinite constant": ("f(x) = oo*x", ""),
}


def _is_refused(*args, fragment="", prepare=lambda: None, **environment):
    def attempt():
        prepare()
        before = _contents()
        said = command(*args, **environment)
        assert fragment in said and len(said) < 2000, said
        assert _contents() == before, "a file was changed"
        return f"exit code 2: {said.splitlines()[0][:110]}"

    return attempt


def _contents():
    """Of every file but what Python keeps of those that it imports."""
    files = (p for p in Path().rglob("*") if p.is_file() and not p.is_symlink())
    return {p: p.read_bytes() for p in files if p.parent.name != "__pycache__"}


def _link():
    Path("elsewhere").mkdir()
    Path("out").mkdir()
    Path("out/f").symlink_to(Path("elsewhere").resolve())


def _link_to_file():
    Path("out/f").mkdir(parents=True)
    Path("victim").write_text("mine")
    Path("out/f/f_numpy.py").symlink_to(Path("victim").resolve())


def _own_file():
    Path("out/f").mkdir(parents=True)
    Path("out/f/f_numpy.py").write_text("mine = 1\n")


def _generate(*more):
    return ("generate", "f(x) = x**2", "--no-check", *more)


COMMANDS = {
    "a folder of the output is a link": _is_refused(
        *_generate("--out", "out"), prepare=_link, fragment="symbolic link"
    ),
    "a file of the output is a link": _is_refused(
        *_generate("--out", "out"), prepare=_link_to_file, fragment="symbolic link"
    ),
    "a file of that name is somebody's own": _is_refused(
        *_generate("--out", "out"), prepare=_own_file, fragment="was not printed by symgrad"
    ),
    "the output is /dev/null": _is_refused(*_generate("--out", "/dev/null"), fragment="is a file"),
    "the output is in /proc": _is_refused(*_generate("--out", "/proc"), fragment="/proc"),
    "a formula of 100,000 characters in the command": _is_refused(
        "check", f"f(x) = {'x+' * 50_000}x", fragment="at most 20000 are read"
    ),
    "a file with a name of 5,000 characters": _is_refused("check", f"{'a' * 5_000}.py", fragment="there is no file"),
    "the target is a device": _is_refused("check", "/dev/zero", fragment="is no Python file"),
    "the target is a folder": _is_refused("check", "/tmp", fragment="is no Python file"),
    "--seconds nan": _is_refused("check", "f(x) = x", "--seconds", "nan", fragment="nan is no number"),
    "--jobs 0": _is_refused("check", "f(x) = x", "--jobs", "0", fragment="--jobs"),
    "a formula that looks like an option": _is_refused("check", "-*- coding: utf-7 -*-", fragment="No such option"),
    "a compiler that is a program of somebody's": _is_refused(
        "check", "f(x) = x", "--to", "c", CC="no-such-compiler; touch PWNED", fragment="no C compiler"
    ),
    "a size that no memory holds": _is_refused(
        "check", "f(x[n])[i:10**6,j:10**6] = x[0]", fragment="longer than 10000"
    ),
    "a file that fails when it is imported": _is_refused(
        "check", "f.py", prepare=lambda: Path("f.py").write_text("1/0\n"), fragment="ZeroDivisionError"
    ),
    "a file that is no text": _is_refused(
        "check", "f.py", prepare=lambda: Path("f.py").write_bytes(b"\xff\x00\xfe"), fragment="f.py"
    ),
}


def _named(name):
    """A file with that name is printed, and what is printed runs and compiles."""

    def attempt():
        Path(name).write_text(BODY)
        command("generate", "--to", "numpy,c", "--no-check", "--out", "out", "--", name, code=0)
        lines = Path("out/f/f_numpy.py").read_text().splitlines()
        run = [sys.executable, "-W", "error", "-c", "import f_numpy; f_numpy.forward(f_numpy.np.float64(3))"]
        subprocess.run(run, cwd="out/f", check=True, capture_output=True)
        compiled = ["cc", "-std=c99", "-pedantic", "-Wall", "-Werror", "-fsyntax-only", "f.c"]
        subprocess.run(compiled, cwd="out/f", check=True, capture_output=True)
        shown = next(line for line in lines if line.startswith("Print it again"))
        assert shown.isprintable() and not PWNED.exists()
        return f"the files run and compile; their head says `{shown.partition('generate ')[2]}`"

    return attempt


NAMES = {
    f"a file called {shown}": _named(name)
    for shown, name in {
        'a"""b.py': 'a"""b.py',
        "q\"; touch PWNED; \".py": 'q"; touch PWNED; ".py',
        "tail\\.py": "tail\\.py",
        "with a newline": "nl\nimport os.py",
        "with a bidirectional control": "bidi\u202e.py",
        "with a byte that is no text": "raw\udc80.py",
        "star*.py": "star*.py",
    }.items()
}


def hand_edited():
    """A change by hand is seen by the checksum, kept, and written over only by --force."""
    command(*_generate("--out", "out"), code=0)
    path = Path("out/f/f_numpy.py")
    edited = path.read_text().replace("out = x**2", "out = x**2 + 0")
    path.write_text(edited)
    said = command("generate", "f(x) = x**3", "--no-check", "--out", "out")
    assert path.read_text() == edited and "was changed after symgrad printed it" in said, said
    command("generate", "f(x) = x**3", "--no-check", "--out", "out", "--force", code=0)
    assert "out = x**2 * x" in path.read_text()
    return "exit code 2, the file stays; with --force it is written"


def killed(times=12):
    """kill -9 at any moment: each file is the old one or the new one."""
    texts = {}
    for power in (2, 3):
        command("generate", f"f(x) = x**{power}", "--to", "numpy,c", "--no-check", "--out", "out", code=0)
        for path in Path("out/f").iterdir():
            texts.setdefault(path.name, []).append(path.read_bytes())
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = (
        "import sys; from pathlib import Path; import symgrad as sg; from symgrad.cli.files import placed, write\n"
        "files = [{**sg.generate(f'f(x) = x**{p}', check=False), **sg.generate(f'f(x) = x**{p}', 'c', check=False)}"
        " for p in (2, 3)]\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for some in files: write(placed(Path('out', 'f'), some))\n"
    )
    strays = 0
    for turn in range(times):
        child = subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(0.013 * (1 + turn))
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        for name, whole in texts.items():
            assert Path("out/f", name).read_bytes() in whole, f"{name} is torn"
        strays += len(list(Path("out/f").glob(".*")))
        for left in Path("out/f").glob(".*"):
            os.utime(left, (0, 0))
    command(*_generate("--out", "out", "--force", "--to", "numpy,c"), code=0)
    command("generate", "f(x) = x**4", "--to", "numpy,c", "--no-check", "--out", "out", code=0)
    assert not list(Path("out/f").glob(".*")), "temporary files stay"
    return f"{times} times: no file was torn; the {strays} temporary files left go when symgrad writes there again"


def the_same_bytes():
    """One declaration, one text: whatever the hash seed, locale, time zone and folder."""
    found = set()
    targets = ("symgrad.library:layer_norm", "symgrad.library:cross_entropy", "f(x, y) = x*sin(y)/(1 + exp(-x))")
    ways = [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "1", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "random", "LC_ALL": "de_DE.UTF-8", "TZ": "Pacific/Kiritimati"},
        {"PYTHONHASHSEED": "4242", "LANG": "tr_TR.UTF-8", "TZ": "America/Los_Angeles", "PYTHONUTF8": "0"},
    ]
    for number, way in enumerate(ways):
        out = f"{'deep/' * number}out"
        command("generate", *targets, "--to", "numpy,c,torch,jax", "--no-check", "--out", out, code=0, **way)
        files = sorted(p for p in Path(out).rglob("*") if p.is_file())
        found.add(hashlib.sha256(b"\0".join(p.name.encode() + p.read_bytes() for p in files)).hexdigest())
    assert len(found) == 1, "texts differ"
    messages = {command("check", "f(x) = primorial(x)", PYTHONHASHSEED=seed) for seed in "0123"}
    assert len(messages) == 1, messages
    return f"{len(ways)} runs with other PYTHONHASHSEED, LC_ALL, TZ and folders: byte for byte the same"


def one_line():
    """A failure names the command that asks for it alone."""
    report = sg.check(sg.parse("f(x) = x**2"), case=2)
    assert report.ok and report.points
    assert re.fullmatch(r"symgrad check 'f\(x\) = x\*\*2' --to numpy", report.command)
    return f"`{report.command} --case 2` asks for one case; every failure prints such a line"


FILES = {
    "a printed file is edited by hand": hand_edited,
    "kill -9 while files are written": killed,
    "hash seed, locale, time zone, folder": the_same_bytes,
    "a failure is to be seen again": one_line,
}
THREATS = {
    "Formula text": {name: refused(*row) for name, row in FORMULAS.items()},
    "The command": COMMANDS,
    "Names of files": NAMES,
    "Files and runs": FILES,
}
