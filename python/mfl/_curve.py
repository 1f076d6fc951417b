"""A small curve as SVG text, for notebooks without Matplotlib."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 320, 120, 46, 8, 8, 20
COLOURS = ("#2a6f97", "#c8553d")


def svg_curve(x: Sequence[float], series: Mapping[str, Sequence[float]], x_title: str) -> str:
    """One line per series over x, with points where some of its numbers are not finite and left out. Empty if nothing can be drawn."""
    points = {name: [(a, b) for a, b in zip(x, values) if math.isfinite(b)] for name, values in series.items()}
    points = {name: line for name, line in points.items() if len(line) > 1}
    if not points:
        return ""
    every = [point for line in points.values() for point in line]
    x0, x1 = min(a for a, _ in every), max(a for a, _ in every)
    y0, y1 = min(b for _, b in every), max(b for _, b in every)

    def place(a: float, b: float) -> str:
        across = LEFT + (a - x0) / ((x1 - x0) or 1) * (WIDTH - LEFT - RIGHT)
        down = TOP + (y1 - b) / ((y1 - y0) or 1) * (HEIGHT - TOP - BOTTOM)
        return f"{across:.1f},{down:.1f}"

    floor = HEIGHT - BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="10" fill="currentColor" role="img" aria-label="loss over rounds">',
             f'<path d="M{LEFT} {TOP}V{floor}H{WIDTH - RIGHT}" fill="none" stroke="currentColor" stroke-opacity="0.4"/>',
             f'<text x="{LEFT - 4}" y="{TOP + 8}" text-anchor="end">{y1:.3g}</text>',
             f'<text x="{LEFT - 4}" y="{floor}" text-anchor="end">{y0:.3g}</text>',
             f'<text x="{LEFT}" y="{HEIGHT - 6}">{x0:g}</text>',
             f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{x_title}</text>',
             f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{x1:g}</text>']
    for number, (name, line) in enumerate(points.items()):
        colour = COLOURS[number % len(COLOURS)]
        shape = " ".join(place(a, b) for a, b in line)
        dashes = ' stroke-dasharray="4 3"' if number else ""
        parts.append(f'<polyline points="{shape}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>')
        if len(line) < len(x):
            parts += [f'<circle cx="{at[0]}" cy="{at[1]}" r="1.8" fill="{colour}"/>' for at in (place(a, b).split(",") for a, b in line)]
        parts.append(f'<text x="{WIDTH - RIGHT - 4}" y="{TOP + 10 + 13 * number}" text-anchor="end" fill="{colour}">{name}</text>')
    return "".join(parts) + "</svg>"
