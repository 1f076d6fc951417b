"""Small line plots as SVG, logarithmic on both axes."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 480, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 32, 30, 44


def ticks(low, high):
    """1, 2 and 5 times the powers of ten within the range; only powers of ten if those are too many, even steps if too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    fine = [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    if len(fine) < 2:
        step = 10.0 ** math.floor(math.log10(high - low))
        return [step * i for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return fine if len(fine) <= 8 else [t for t in fine if abs(math.log10(t) - round(math.log10(t))) < 1e-9]


def number(value):
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


class Axes:
    def __init__(self, xs, ys):
        self.x_range = (min(xs) / 1.1, max(xs) * 1.1)
        self.y_range = (min(ys) / 1.3, max(ys) * 1.3)

    @staticmethod
    def share(value, low_high):
        low, high = low_high
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))

    def x(self, value):
        return LEFT + self.share(value, self.x_range) * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        return HEIGHT - BOTTOM - self.share(value, self.y_range) * (HEIGHT - TOP - BOTTOM)


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def grid(axes):
    parts = []
    for tick in ticks(*axes.x_range):
        x = axes.x(tick)
        parts.append(f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(text(x, HEIGHT - BOTTOM + 15, number(tick)))
    for tick in ticks(*axes.y_range):
        y = axes.y(tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(text(LEFT - 5, y + 4, number(tick), "end"))
    return parts


def line_plot(title, x_label, y_label, points, reference=None):
    """points: (x, y, low, high), where low and high are the range; reference: a function drawn as a thin dashed line."""
    axes = Axes([p[0] for p in points], [p[2] for p in points] + [p[3] for p in points])
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="11">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>']
    parts += grid(axes)
    if reference is not None:
        ends = [(p[0], reference(p[0])) for p in points if reference(p[0]) > 0]
        path = "L".join(f"{axes.x(x):.1f} {axes.y(y):.1f}" for x, y in ends)
        parts.append(f'<path d="M{path}" fill="none" stroke="#888" stroke-dasharray="4 3"/>')
    path = "L".join(f"{axes.x(p[0]):.1f} {axes.y(p[1]):.1f}" for p in points)
    parts.append(f'<path d="M{path}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    for x, y, low, high in points:
        parts.append(f'<path d="M{axes.x(x):.1f} {axes.y(low):.1f}V{axes.y(high):.1f}" stroke="#1f5fa8"/>')
        parts.append(f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="3" fill="#1f5fa8"/>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(text(WIDTH / 2, 18, title, extra=' font-size="13"'))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label))
    parts.append(text(14, middle, y_label, extra=f' transform="rotate(-90 14 {middle:.0f})"'))
    return "\n".join([*parts, "</svg>"]) + "\n"
