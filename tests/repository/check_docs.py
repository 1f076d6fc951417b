#!/usr/bin/env python3
"""Checks the documentation: check_docs.py ROOT. Prints each problem; exit code 1 if there is one.

Every relative link of a *.md file names an existing file and heading, and every path, script, preset and command in its code exists.
Every bold number in the table of README.md appears in bench/RESULTS.md, and every row of docs/failures.md ends with the names of
tests that exist. docs/index.md links every page of docs/, and docs/map.md names every folder of mfl/ and no other.
The pages that scripts/reference.py writes are compared with the program by another test.
"""
import json
import re
import sys
from pathlib import Path

import check_english

LINK = re.compile(r"\]\(([^)\s#]*[./][^)\s#]*|)(?:#([^)\s]*))?\)")  # a formula such as [x](t) is no link
NUMBER = re.compile(r"^\| \*\*([0-9][0-9.,]*)\*\*", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
HISTORY = {"CHANGELOG.md"}  # names what was there

TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
NAMED = re.compile(r"`(\w+\.\w+)`")


def unknown_tests(root, name="docs/failures.md"):
    """Rows of a page's tables whose last cell names no test, or one that is not in tests/."""
    if not (root / name).exists():
        return []
    known = {f"{suite}.{test}" for path in (root / "tests").rglob("*.cc")
             for suite, test in TEST.findall(path.read_text(encoding="utf-8"))}
    found = []
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("| ") or line.startswith("| what happens"):
            continue
        named = NAMED.findall(line.strip().strip("|").split("|")[-1])
        if not named:
            found.append(f"{name}:{number}: the row names no test")
        found += [f"{name}:{number}: there is no test {test}" for test in named if test not in known]
    return found


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in HEADING.findall(page)}


def broken_links(root, name):
    found = []
    for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
        for target, anchor in LINK.findall(line):
            path = (root / name).parent / target if target else root / name
            if "://" in target:
                continue
            if not path.exists():
                found.append(f"{name}:{number}: {target} does not exist")
            elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text(encoding="utf-8")):
                found.append(f"{name}:{number}: {target or name} has no heading #{anchor}")
    return found


def known_commands(root):
    """The first words of the commands of mfl, from the page that is written from its help."""
    page = root / "docs/commands.md"
    return {words.split()[1] for words in HEADING.findall(page.read_text(encoding="utf-8")) if words.startswith("mfl ")} if page.exists() else set()


def known_presets(root):
    file = root / "CMakePresets.json"
    return {one["name"] for one in json.loads(file.read_text(encoding="utf-8"))["configurePresets"]} if file.exists() else set()


def unknown_code(root, name, commands, presets):
    """Paths, scripts, presets and commands in the code of a page that do not exist. FOLDER/<name> and the like are no paths."""
    found, text = [], (root / name).read_text(encoding="utf-8")
    tops = {path.name for path in root.iterdir() if path.is_dir() and path.name not in check_english.NOT_SOURCE}
    for span in CODE.finditer(text):
        line = text.count("\n", 0, span.start()) + 1
        for path in re.findall(r"^`(?:\./)?([\w-]+/[\w./*-]+)[` ]|^`\./([\w-]+\.sh)[` ]", span[0]):
            path = "".join(path).rstrip(".")
            if (path.split("/")[0] in tops or "/" not in path) and not list(root.glob(path.rstrip("/"))):
                found.append(f"{name}:{line}: {path} does not exist")
        found += [f"{name}:{line}: there is no preset {preset}" for preset in re.findall(r"--preset (\w[\w-]*)", span[0])
                  if presets and preset not in presets]
        prompt = r"\n\$ " if span[0].startswith("```console") else r"\n" if span[0].startswith("```sh") else r"^`"
        found += [f"{name}:{line}: there is no command mfl {word}" for word in re.findall(rf"(?:{prompt})mfl ([a-z]+)", span[0])
                  if commands and word not in commands]
    return found


def unlisted_pages(root):
    """Pages of docs/ that the index does not link."""
    index = root / "docs/index.md"
    if not index.exists():
        return ["docs/index.md does not exist"]
    linked = {target for target, _ in LINK.findall(index.read_text(encoding="utf-8"))}
    return [f"docs/index.md: no link to {page.name}" for page in sorted((root / "docs").glob("*.md"))
            if page != index and page.name not in linked]


def wrong_folders(root):
    """Folders of mfl/ that docs/map.md does not name in bold or as code, and names in bold at the start of a paragraph that are no folder."""
    page = root / "docs/map.md"
    if not page.exists():
        return []
    text = page.read_text(encoding="utf-8")
    folders = {path.name for path in (root / "mfl").iterdir() if path.is_dir()}
    named = {word.removeprefix("mfl/").strip("/") for word in re.findall(r"\*\*([\w/]+)\*\*|`([\w/]+)`", text) for word in word if word}
    stale = {word for word in re.findall(r"^\*\*([a-z_/]+)\*\*", text, re.MULTILINE)
             if word not in folders and not (root / word).is_dir()}
    return [f"docs/map.md: mfl/{folder} is missing" for folder in sorted(folders - named)] + [
        f"docs/map.md: {word} does not exist" for word in sorted(stale)]


def unknown_numbers(readme, results):
    """The numbers of README's table that the results do not have. 788 is found in 788.12."""
    numbers = NUMBER.findall(readme)
    if not numbers:
        return ["README.md: no table with bold numbers"]
    return [f"README.md: {number} is not in bench/RESULTS.md" for number in numbers
            if not re.search(rf"(?<![0-9.,]){re.escape(number)}(?![0-9])", results)]


def problems(root, names):
    found = [line for name in names for line in broken_links(root, name)] + unknown_tests(root)
    commands, presets = known_commands(root), known_presets(root)
    found += [line for name in names if name not in HISTORY for line in unknown_code(root, name, commands, presets)]
    found += unlisted_pages(root) + wrong_folders(root)
    return found + unknown_numbers((root / "README.md").read_text(encoding="utf-8"),
                                   (root / "bench/RESULTS.md").read_text(encoding="utf-8"))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_docs.py ROOT")
    root = Path(sys.argv[1])
    found = problems(root, check_english.files(root, {".md"}))
    print("\n".join(found) if found else "links, numbers, names and paths are right")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
