#!/usr/bin/env python3
"""Runs pytest on the package of the checkout: with_package.py --library LIBMFL --program MFL [ARGUMENT OF PYTEST ...].

The package finds the native parts of a build through MFL_LIBRARY and MFL_PROGRAM, so that nothing needs to be installed.
"""
import argparse
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build" / "python-package" / "bin" / "python3"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--program", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    if not PYTHON.exists():
        sys.exit("build/python-package does not exist: scripts/python_env.sh makes it, with numpy, pandas, scikit-learn and others")
    keep = {name: value for name, value in os.environ.items() if name == "MFL_CACHE" or not name.startswith(("MFL_", "PYTHON"))}
    environment = {**keep, "MFL_LIBRARY": str(arguments.library.resolve()), "MFL_PROGRAM": str(arguments.program.resolve()),
                   "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
    command = [str(PYTHON), "-m", "pytest", "-p", "no:cacheprovider", "-rs", "-q", *rest]
    os.execve(PYTHON, command, environment)


if __name__ == "__main__":
    main()
