#!/usr/bin/env python3
"""Checks who includes whom: check_includes.py ROOT. Prints each wrong line; exit code 1 if there is one.

Folders are listed in the order in which data flows. A folder may include itself and the folders that its line names.
"""
import re
import sys
from pathlib import Path

ALLOWED = {
    "base": "",
    "data": "base",
    "partition": "base data",
    "model": "base data",
    "solve": "base data model",
    "aggregate": "base data solve",
    "codec": "base",
    "algorithm": "base data model solve aggregate codec",
    "theory": "base data partition model solve",
    "engine": "base data partition model solve aggregate codec algorithm",
    "external": "base data model solve aggregate algorithm engine",
    "record": "base algorithm",
    "federation": "base data model solve aggregate codec algorithm engine record",
    "config": "base data partition model solve aggregate codec algorithm engine",
    "devices": "base data model solve aggregate codec algorithm engine record config",
    "experiment": "base data model solve aggregate codec algorithm theory engine config devices",
    "trained": "base data model record config",
    "load": "base data partition model solve aggregate codec algorithm engine record config experiment devices",
    "run": "base data partition model solve aggregate codec algorithm theory engine external record config experiment trained devices load",
    "advise": "base data partition model solve aggregate codec algorithm theory engine record config experiment trained devices load run",
    "network": "base data partition model solve aggregate codec algorithm engine external record federation config experiment trained devices load run",
    "report": "base record theory",
    "reproduce": "base record config experiment devices load run report",
    "study": "base partition algorithm record config experiment run report",
    "capi": "base data config experiment trained record run report",
    "cli": "base data partition model solve aggregate codec algorithm theory engine external record federation config experiment trained devices load run advise network report reproduce study",
}

INCLUDE = re.compile(r'^\s*#\s*include\s*["<](mfl/[^">]+)[">]')
RELATIVE = re.compile(r'^\s*#\s*include\s*"((?:\.|[^"/]+")[^"]*)')
SOURCES = {".h", ".cc"}
OTHER_FILES = {"CMakeLists.txt"}


def find_cycle(graph):
    """One cycle of the graph {file: [files]} as a list that ends where it starts, or None."""
    state = {}  # 1: on the path, 2: done

    def visit(node, path):
        state[node] = 1
        path.append(node)
        for target in graph.get(node, []):
            if state.get(target) == 1:
                return path[path.index(target):] + [target]
            if target not in state:
                cycle = visit(target, path)
                if cycle:
                    return cycle
        path.pop()
        state[node] = 2
        return None

    for node in sorted(graph):
        if node not in state:
            cycle = visit(node, [])
            if cycle:
                return cycle
    return None


def problems(root):
    """What is wrong below root/mfl, one line each."""
    found = []
    files = {}
    for path in sorted((root / "mfl").rglob("*")):
        if path.is_dir() or path.name in OTHER_FILES:
            continue
        name = path.relative_to(root).as_posix().removesuffix(".in")  # a .in becomes the file by configuring
        folder = name.split("/")[1]
        if folder not in ALLOWED:
            found.append(f"{name}: unknown folder mfl/{folder}; add it to the table in check_includes.py")
        elif Path(name).suffix == ".proto":
            continue  # becomes sources in the build folder
        elif Path(name).suffix not in SOURCES:
            found.append(f"{name}: not a .h, a .cc, a .proto or a CMakeLists.txt")
        else:
            files[name] = path.read_text(encoding="utf-8").splitlines()
    if not files:
        found.append(f"{root}: no sources below mfl/")

    folder_graph, file_graph = {}, {}
    for name, lines in files.items():
        folder = name.split("/")[1]
        # An -inl.h is read once per SIMD target and guards itself (Highway).
        # A header for C has the guard that is in its standard.
        guard = f'#ifndef {name.upper().replace("/", "_").replace(".", "_")}'
        if name.endswith(".h") and not name.endswith("-inl.h") and not {"#pragma once", guard} & set(lines):
            found.append(f"{name}: no #pragma once")
        for number, line in enumerate(lines, 1):
            if match := RELATIVE.match(line):
                found.append(f'{name}:{number}: include {match[1].strip(chr(34))} by its path from the root, mfl/...')
            if not (match := INCLUDE.match(line)):
                continue
            target = match[1]
            proto = re.sub(r"(\.grpc)?\.pb\.h$", ".proto", target)
            if proto != target and (root / proto).is_file():
                continue  # made of it in the build folder
            target_folder = target.split("/")[1]
            # A source may include itself: it is compiled once per SIMD target.
            if target in files and target != name:
                file_graph.setdefault(name, []).append(target)
            elif target not in files:
                found.append(f"{name}:{number}: {target} does not exist")
            if target_folder != folder:
                folder_graph.setdefault(folder, set()).add(target_folder)
                if target_folder not in ALLOWED[folder].split():
                    found.append(f"{name}:{number}: mfl/{folder} may not include mfl/{target_folder} ({target})")

    for graph in ({f: sorted(t) for f, t in folder_graph.items()}, file_graph):
        if cycle := find_cycle(graph):
            found.append("cycle: " + " -> ".join(cycle))
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_includes.py ROOT")
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) if found else "every include is allowed")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
