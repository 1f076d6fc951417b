#!/usr/bin/env python3
"""Opens a report in headless Chromium and lists what is wrong: check_page.py REPORT.html [--screenshots FOLDER].

At desktop and phone width: every figure and table is present and has a size, nothing overlaps (neither blocks of the page nor
texts inside a figure), the page does not scroll sideways, and nothing is requested besides the file itself.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

WIDTHS = {"desktop": 1280, "phone": 390}
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars"]

# Runs in the page and leaves its findings in an element of the enclosing frame.
PROBE = """
window.addEventListener('load', () => setTimeout(() => {
  const wrong = [];
  const seen = (element) => element.getBoundingClientRect();
  const meet = (a, b, slack) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > slack &&
                                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > slack;
  const name = (element) => element.tagName.toLowerCase() + (element.id ? '#' + element.id : '') + ' "' +
                            element.textContent.trim().slice(0, 40) + '"';
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth) wrong.push('the page is ' + root.scrollWidth + ' wide and scrolls sideways');
  for (const figure of document.querySelectorAll('figure')) {
    const svg = figure.querySelector('svg'), caption = figure.querySelector('figcaption');
    if (!svg || seen(svg).width < 200 || seen(svg).height < 120) wrong.push('no picture in ' + name(figure));
    if (!caption || !caption.textContent.trim()) wrong.push('no caption in ' + name(figure));
    if (!svg) continue;
    const frame = seen(svg), texts = [...svg.querySelectorAll('text')];
    for (let i = 0; i < texts.length; i++) {
      const box = seen(texts[i]);
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
          box.bottom > frame.bottom + 1)
        wrong.push('text leaves the picture in #' + figure.id + ': ' + texts[i].textContent);
      for (let j = 0; j < i; j++)
        if (meet(box, seen(texts[j]), 1))
          wrong.push('texts overlap in #' + figure.id + ': ' + texts[j].textContent + ' and ' + texts[i].textContent);
    }
  }
  for (const table of document.querySelectorAll('table')) {
    const rows = [...table.querySelectorAll('tbody tr')];
    if (!rows.length || rows.some((row) => seen(row).height < 8)) wrong.push('rows without a size in ' + name(table));
  }
  const blocks = [...document.querySelectorAll('h1, h2, p, nav, ul, pre, figure, .table')]
      .filter((block) => block.checkVisibility());  // what is folded away has no place of its own
  blocks.forEach((a, i) => blocks.slice(0, i).forEach((b) => {
    if (!a.contains(b) && !b.contains(a) && meet(seen(a), seen(b), 1)) wrong.push(name(b) + ' overlaps ' + name(a));
  }));
  for (const entry of performance.getEntriesByType('resource')) wrong.push('requests ' + entry.name);
  const found = {width: window.innerWidth, wrong: wrong, figures: [...document.querySelectorAll('figure')].map((f) => f.id),
                 tables: document.querySelectorAll('table').length};
  const out = parent.document.createElement('script');
  out.type = 'application/json';
  out.id = 'probe';
  out.textContent = JSON.stringify(found).replace(/</g, '\\\\u003c');
  parent.document.body.appendChild(out);
}, 200));
"""


def framed(html, width, height):
    """The page in a frame of that width: a window of Chromium cannot be as narrow as a phone."""
    return (f'<!DOCTYPE html><html><head><meta charset="utf-8"></head><body style="margin:0"><iframe srcdoc="{escape(html)}" '
            f'style="border:0;width:{width}px;height:{height}px"></iframe></body></html>')


def chromium(html, arguments, width, height):
    """Opens the page and gives what the browser printed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        sys.exit("check_page.py: no chromium on PATH; scripts/install_packages.sh test installs it")
    with tempfile.TemporaryDirectory(prefix="mfl-browser-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "page.html"
        page.write_text(framed(html, width, height), encoding="utf-8")
        profile = Path(folder) / "profile"
        command = [program, *FLAGS, f"--user-data-dir={profile}", f"--window-size={max(width, 500)},{height}", *arguments]
        return subprocess.run([*command, page.as_uri()], env={**os.environ, "HOME": folder}, capture_output=True, text=True,
                              timeout=120, check=False)


def probe(html, width):
    """What the page says of itself at that width: {"width", "wrong", "figures", "tables"}."""
    html = html.replace("</head>", f"<script>{PROBE}</script></head>", 1)
    done = chromium(html, ["--virtual-time-budget=5000", "--dump-dom"], width, 900)
    match = re.search(r'<script type="application/json" id="probe">(.*?)</script>', done.stdout, re.DOTALL)
    if not match:
        sys.exit(f"check_page.py: chromium gave no answer (exit code {done.returncode}):\n{done.stderr[-2000:]}")
    return json.loads(match[1])


def problems(html, figures=()):
    """One line for each thing that is wrong at either width; `figures` are the ids that the page must have."""
    found = []
    for name, width in WIDTHS.items():
        answer = probe(html, width)
        if answer["width"] != width:
            found.append(f"{name}: the window is {answer['width']} wide, not {width}")
        found += [f"{name}: {line}" for line in answer["wrong"]]
        found += [f"{name}: figure {figure} is missing" for figure in figures if figure not in answer["figures"]]
        if not answer["tables"]:
            found.append(f"{name}: no table")
    for address in re.findall(r"""(?:src|href|data)=["'](?!#|data:)([^"']*)""", html):
        found.append(f"refers to {address}")
    return found


def screenshots(html, folder, height):
    folder.mkdir(parents=True, exist_ok=True)
    for name, width in WIDTHS.items():
        chromium(html, [f"--screenshot={(folder / name).resolve()}.png"], width, height)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=Path)
    parser.add_argument("--screenshots", type=Path, help="a folder for desktop.png and phone.png")
    parser.add_argument("--height", type=int, default=8000, help="of the screenshots, in pixels")
    arguments = parser.parse_args()
    html = arguments.report.read_text(encoding="utf-8")
    if arguments.screenshots:
        screenshots(html, arguments.screenshots, arguments.height)
    figures = sorted(path.stem for path in (arguments.report.parent / "figures").glob("*.svg"))
    found = problems(html, figures)
    print("\n".join(found) if found else f"{len(figures)} figures, nothing wrong")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
