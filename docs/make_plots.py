"""Draw docs/training.svg: the examples of training are run, and their losses drawn over each other.

    python docs/make_plots.py

Needs torch; takes about a minute.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples" / "training"))

import character_gpt
import lenet
from training import largest_difference

HERE = Path(__file__).parent
WIDTH, HEIGHT, LEFT, TOP, PANEL, HIGH, LOW = 860, 640, 70, 50, 330, 210, 80
GAP = WIDTH - 2 * PANEL - LEFT - 20
# the curves lie on each other: each is narrower than the one below it
STYLES = {
    "torch modules": ("#f2b134", 8.0),
    "torch Functions": ("#d1495b", 4.0),
    "numpy": ("#1b3a57", 1.2),
}
LABELS = {"torch modules": "torch's modules", "torch Functions": "printed torch", "numpy": "printed NumPy"}
NETWORKS = {"LeNet": lenet, "Character GPT": character_gpt}
Scale = Callable[[float], float]


def text(x: float, y: float, words: str, anchor: str = "middle", size: int = 12) -> str:
    """Words at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def frame(left: float, top: float, high: float, steps: int, ticks: Sequence[tuple[float, str]]) -> list[str]:
    """A box with steps below it, and `ticks`, (y, label), on its left."""
    box = f'x="{left:.1f}" y="{top:.1f}" width="{PANEL}" height="{high:.1f}" fill="none" stroke="#888"'
    lines = [f"<rect {box}/>"]
    for y, label in ticks:
        lines.append(f'<path d="M{left:.1f} {y:.1f}h{PANEL}" stroke="#ddd"/>')
        lines.append(text(left - 6, y + 4, label, "end"))
    for step in range(0, steps + 1, steps // 5):
        lines.append(text(left + PANEL * step / steps, top + high + 16, str(step)))
    return lines


def curve(left: float, values: Sequence[float], y: Scale, way: str) -> str:
    """A line through the values of step 1, 2, ..."""
    colour, width = STYLES[way]
    points = " ".join(f"{left + PANEL * (k + 1) / len(values):.1f},{y(v):.1f}" for k, v in enumerate(values))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width}"/>'


def panels(left: float, name: str, curves: dict[str, Sequence[float]]) -> list[str]:
    """The losses of a network, and below them how far each way is from torch's modules."""
    steps = len(curves["numpy"])
    highest = math.ceil(max(curves["numpy"]))

    def loss(value: float) -> float:
        return TOP + HIGH * (1 - value / highest)

    lines = [text(left + PANEL / 2, TOP - 14, f"{name}: loss at each step", size=14)]
    lines += frame(left, TOP, HIGH, steps, [(loss(k), str(k)) for k in range(highest + 1)])
    lines += [curve(left, values, loss, way) for way, values in curves.items()]

    top, bottom = TOP + HIGH + LOW, HEIGHT - 60
    decades = range(-17, -4)

    def difference(value: float) -> float:
        return top + (bottom - top) * (decades[-1] - math.log10(max(value, 1e-17))) / (len(decades) - 1)

    lines.append(text(left + PANEL / 2, top - 14, "difference from torch's modules, relative", size=14))
    lines += frame(left, top, bottom - top, steps, [(difference(10.0**k), f"1e{k}") for k in decades if k % 3 == 0])
    bound = f"M{left:.1f} {difference(1e-6):.1f}h{PANEL}"
    lines.append(f'<path d="{bound}" stroke="#333" stroke-dasharray="6 4"/>')
    lines.append(text(left + PANEL - 6, difference(1e-6) + 15, "the tests require less than 1e-6", "end"))
    expected = curves["torch modules"]
    for k, way in enumerate(("torch Functions", "numpy")):
        apart = [abs(f - e) / abs(e) for f, e in zip(curves[way], expected, strict=True)]
        lines.append(curve(left, apart, difference, way))
        worst = largest_difference(curves[way], expected)
        lines.append(text(left + 8, difference(1e-9) + 20 + 16 * k, f"{LABELS[way]}: at most {worst:.1e}", "start"))
    return lines


def main() -> None:
    """Run both examples, and draw them."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for k, (name, network) in enumerate(NETWORKS.items()):
        lines += panels(LEFT + k * (PANEL + GAP), name, network.curves())
    for k, (way, (colour, width)) in enumerate(STYLES.items()):
        x = LEFT + 150 * k
        lines.append(f'<path d="M{x} {HEIGHT - 20}h30" stroke="{colour}" stroke-width="{width}"/>')
        lines.append(text(x + 38, HEIGHT - 16, LABELS[way], "start"))
    (HERE / "training.svg").write_text("\n".join([*lines, "</svg>", ""]))


if __name__ == "__main__":
    main()
