"""The page without a server: its files, and symgrad for Pyodide, which runs in the browser."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from ..backends.base import source, templates
from ..errors import TargetError

PACKAGES = ("click", "mpmath", "numpy", "pycparser", "pygments", "sympy")  # which Pyodide brings along
WHEELS = ("python_flint", "latex2mathml")  # and which it does not: their wheels are on PyPI
FILES = ("explain.css", "playground.css", "explain.js", "playground.js", "static.js", "pyodide.js")
POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src data:"
SCRIPT = '<script type="module" src="playground.js"></script>\n'
PACKAGE = Path(__file__).resolve().parent.parent


def write(folder: Path, seconds: float) -> list[Path]:
    """Write the page into a folder that has Pyodide in `pyodide/`; return the files.

    seconds  that an answer may take

    Raises TargetError where something of it is not there.
    """
    lock = folder / "pyodide" / "pyodide-lock.json"
    if not lock.is_file():
        raise TargetError(f"there is no {lock}. Unpack a release of Pyodide (pyodide-VERSION.tar.bz2) into {folder}.")
    known = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    wanted = [known[name]["file_name"] for name in PACKAGES]
    missing = [name for name in wanted if not (lock.parent / name).is_file()]
    wheels = [next(iter(sorted(lock.parent.glob(f"{name}-*.whl"))), None) for name in WHEELS]
    missing += [f"{name}-....whl" for name, wheel in zip(WHEELS, wheels, strict=True) if wheel is None]
    if missing:
        raise TargetError(
            f"{lock.parent} lacks {', '.join(missing)}. The full release of Pyodide has its packages; "
            f"the others are on PyPI: pip download --no-deps --only-binary :all: --python-version 3.14 "
            f"--platform pyemscripten_2026_0_wasm32 --dest {lock.parent} python-flint latex2mathml"
        )
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
    text = source("playground.html").replace("<title>", f"{policy}<title>")
    text = text.replace("<body>", f'<body data-seconds="{seconds:g}">')
    static = {"packages": PACKAGES, "wheels": [wheel.name for wheel in wheels if wheel is not None]}
    texts = {name: source(name) for name in FILES}
    texts["index.html"] = text.replace(SCRIPT, f'<script type="module" src="static.js"></script>\n{SCRIPT}')
    texts["static.json"] = json.dumps(static, indent=2) + "\n"
    for name, of in texts.items():
        (folder / name).write_text(of, encoding="utf-8")
    archived = {f"symgrad/{p.relative_to(PACKAGE).as_posix()}": p for p in PACKAGE.rglob("*.py")}
    archived |= {f"symgrad/templates/{p.name}": p for p in templates().iterdir() if p.is_file()}
    with zipfile.ZipFile(folder / "symgrad.zip", "w") as archive:
        for name, path in sorted(archived.items()):  # without the times of the files
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return [folder / name for name in (*texts, "symgrad.zip")]
