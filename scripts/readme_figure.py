#!/usr/bin/env python3
"""Draws the figure of README.md: readme_figure.py --mfl BINARY [--check]. Writes docs/mfl-against-fl.svg.

Trains experiments/paper/svm.toml with FL and with MFL and plots the training loss over rounds. The trajectories are the same bits
on every machine, and so is the file; --check compares instead of writing. MNIST must be in the cache (mfl data fetch mnist).
"""
import argparse
import csv
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURE = ROOT / "docs" / "mfl-against-fl.svg"

WIDTH, HEIGHT = 720, 320
LEFT, RIGHT, TOP, BOTTOM = 66, 24, 52, 48
LOSSES = [0.25, 0.30, 0.35, 0.40, 0.45, 0.50]
# Blue and vermillion of Okabe and Ito's palette, which colour-blind readers can tell apart; FL is dashed as well.
STYLES = {"fl": ("FL (plain federated averaging)", "#0072b2", ' stroke-dasharray="7 4"'),
          "mfl": ("MFL (momentum 0.5)", "#d55e00", "")}


def losses_by_round(mfl, store, algorithm):
    """[(round, training loss)] of one run."""
    command = [mfl, "run", ROOT / "experiments/paper/svm.toml", "--algorithm", algorithm, "--store", store, "--quiet", "--json"]
    run_id = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["data"]["run_id"]
    command = [mfl, "runs", "export", run_id, "--store", store, "--format", "csv"]
    table = csv.DictReader(io.StringIO(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    return [(int(row["round"]), float(row["train_loss"])) for row in table]


def round_that_reaches(curve, loss):
    return next(number for number, value in curve if value <= loss)


class Axes:
    def __init__(self, rounds):
        self.rounds = rounds

    def x(self, number):
        return LEFT + number / self.rounds * (WIDTH - LEFT - RIGHT)

    def y(self, loss):
        return HEIGHT - BOTTOM - (loss - LOSSES[0]) / (LOSSES[-1] - LOSSES[0]) * (HEIGHT - TOP - BOTTOM)


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{words}</text>'


def frame(axes):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" font-size="13" fill="#333">',
             "<title>Training loss over rounds: MFL against FL on MNIST</title>",
             f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="6" fill="#fff" stroke="#ccc"/>']
    for loss in LOSSES:
        parts.append(f'<path d="M{LEFT} {axes.y(loss):.1f}H{WIDTH - RIGHT}" stroke="#e2e2e2"/>')
        parts.append(text(LEFT - 8, axes.y(loss) + 4, f"{loss:.2f}", "end"))
    for number in range(0, axes.rounds + 1, 50):
        parts.append(f'<path d="M{axes.x(number):.1f} {HEIGHT - BOTTOM}v5" stroke="#333"/>')
        parts.append(text(axes.x(number), HEIGHT - BOTTOM + 19, number))
    parts.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#333"/>')
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 11, "rounds"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(text(17, middle, "training loss", extra=f' transform="rotate(-90 17 {middle:.0f})"'))
    return parts


def legend():
    parts, x = [], LEFT
    for name, color, dash in STYLES.values():
        parts.append(f'<path d="M{x} 28h34" stroke="{color}" stroke-width="3"{dash}/>')
        parts.append(text(x + 42, 32, name, "start"))
        x += 270
    return parts


def comparison(axes, curves):
    """A line at FL's final loss, from the round where MFL reaches it to the last."""
    loss = curves["fl"][-1][1]
    number = round_that_reaches(curves["mfl"], loss)
    first, last, y = axes.x(number), axes.x(axes.rounds), axes.y(loss)
    color = STYLES["mfl"][1]
    return [f'<path d="M{first:.1f} {y:.1f}H{last:.1f}" stroke="#333" stroke-dasharray="2 3"/>',
            f'<circle cx="{first:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>',
            f'<circle cx="{last:.1f}" cy="{y:.1f}" r="4.5" fill="{STYLES["fl"][1]}"/>',
            f'<path d="M{first:.1f} {y - 7:.1f}V{axes.y(0.41):.1f}" stroke="{color}"/>',
            text(first, axes.y(0.42), f"round {number} of MFL is as good as round {axes.rounds} of FL",
                 extra=f' fill="{color}" font-weight="bold"')]


def draw(curves):
    axes = Axes(curves["fl"][-1][0])
    parts = frame(axes) + legend()
    for algorithm, curve in curves.items():
        points = "L".join(f"{axes.x(number):.1f} {axes.y(loss):.1f}" for number, loss in curve)
        _, color, dash = STYLES[algorithm]
        parts.append(f'<path d="M{points}" fill="none" stroke="{color}" stroke-width="2.5"{dash}/>')
    return "\n".join([*parts, *comparison(axes, curves), "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mfl", default="build/release/bin/mfl", help="the binary that trains (build/release/bin/mfl)")
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mfl-figure-") as folder:
        svg = draw({algorithm: losses_by_round(arguments.mfl, Path(folder) / "runs.db", algorithm) for algorithm in STYLES})
    if not arguments.check:
        FIGURE.write_text(svg, encoding="utf-8")
    elif FIGURE.read_text(encoding="utf-8") != svg:
        sys.exit(f"{FIGURE.relative_to(ROOT)} is out of date: run scripts/readme_figure.py")


if __name__ == "__main__":
    main()
