"""Curves over minutes as a plain SVG: one panel each, from zero up."""

from typing import NamedTuple

WIDTH, HEIGHT, LEFT, GAP = 720, 120, 70, 40


class Curve(NamedTuple):
    name: str
    values: list[float]


def drawn(minutes: list[float], curves: list[Curve]) -> str:
    last = max(minutes, default=1.0) or 1.0
    panels = [panel(minutes, last, curve, n) for n, curve in enumerate(curves)]
    height = len(curves) * (HEIGHT + GAP) + GAP
    body = "\n".join(panels)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + LEFT + 20}" height="{height}" '
        f'font-family="sans-serif" font-size="12">\n<rect width="100%" height="100%" '
        f'fill="white"/>\n{body}\n</svg>\n'
    )


def panel(minutes: list[float], last: float, curve: Curve, number: int) -> str:
    top = GAP + number * (HEIGHT + GAP)
    most = max(curve.values, default=0.0) * 1.1 or 1.0
    points = " ".join(
        f"{LEFT + WIDTH * minute / last:.1f},{top + HEIGHT * (1 - value / most):.1f}"
        for minute, value in zip(minutes, curve.values, strict=True)
    )
    return (
        f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{curve.name}</text>\n'
        f'<text x="{LEFT - 6}" y="{top + 10}" text-anchor="end">{most:.3g}</text>\n'
        f'<text x="{LEFT - 6}" y="{top + HEIGHT}" text-anchor="end">0</text>\n'
        f'<text x="{LEFT + WIDTH}" y="{top + HEIGHT + 14}" text-anchor="end">{last:g} min</text>\n'
        f'<rect x="{LEFT}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
        f'stroke="#bbb"/>\n'
        f'<polyline points="{points}" fill="none" stroke="#1f5fa8" stroke-width="1.5"/>'
    )
