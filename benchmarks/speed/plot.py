"""docs/speed.svg: each row's ratios to C by hand, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .measure import ratio
from .results import Results
from .work import BY_HAND, OURS, OURS_O2, ROWS

WIDTH, LEFT, RIGHT, TOP, LINE = 860, 230, 20, 76, 26
LOW, HIGH = 0.4, 100.0  # what is beyond is drawn at the edge
STYLES = {
    "torch": ("#b8860b", 3.5),
    "torch, compiled": ("#f2b134", 3.5),
    "JAX": ("#2a9d8f", 3.5),
    "SymForce": ("#7b5ea7", 3.5),
    "CasADi": ("#d1495b", 3.5),
    OURS_O2: ("#9db4c8", 5.0),
    OURS: ("#1b3a57", 6.0),
}


def drawn(results: Results, names: Sequence[str]) -> str:
    """The whole file."""
    height = TOP + LINE * len(names) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(WIDTH / 2, 22, "time from arguments to gradients, C by hand = 1", "middle", 14),
        *_legend(),
    ]
    bottom = TOP + LINE * len(names)
    for tick in (0.5, 1, 2, 5, 10, 20, 50, 100):
        colour = "#333" if tick == 1 else "#ddd"
        lines.append(f'<path d="M{_x(tick):.1f} {TOP}V{bottom}" stroke="{colour}"/>')
        lines.append(_text(_x(tick), bottom + 18, f"{tick:g}", "middle"))
    for k, name in enumerate(names):
        y = TOP + LINE * (k + 0.5)
        found, row = results["rows"][name], ROWS[name]
        lines.append(_text(LEFT - 12, y + 4, row.title, "end"))
        if goal := row.goals.get(OURS):
            lines.append(f'<path d="M{_x(goal):.1f} {y - 9:.1f}v18" stroke="#1b3a57" stroke-dasharray="3 2"/>')
        base = found.get(BY_HAND, {}).get(row.asks)
        for column, (colour, size) in STYLES.items():
            if base and (samples := found.get(column, {}).get(row.asks)):
                x = _x(ratio(samples, base))
                lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" fill="{colour}"/>')
    return "\n".join([*lines, "</svg>", ""])


def _legend() -> list[str]:
    lines = []
    for k, (column, (colour, size)) in enumerate(reversed(STYLES.items())):
        x = 40 + 108 * k
        lines.append(f'<circle cx="{x}" cy="48" r="{size}" fill="{colour}"/>')
        lines.append(_text(x + 10, 52, column, "start"))
    x = 40 + 108 * len(STYLES)
    return [*lines, f'<path d="M{x - 10} 39v18" stroke="#1b3a57" stroke-dasharray="3 2"/>', _text(x - 4, 52, "goal")]


def _x(value: float) -> float:
    at = min(max(value, LOW), HIGH)
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(at / LOW) / math.log(HIGH / LOW)


def _text(x: float, y: float, words: str, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'
