"""The console script `mfl`: becomes the native program, which so gets the signals and gives the exit code itself."""
from __future__ import annotations

import os
import sys
from pathlib import Path

from ._errors import Error


def program_path() -> Path:
    """The mfl program: $MFL_PROGRAM, else the one inside this package. An mfl.Error says what to do if there is none."""
    chosen = os.environ.get("MFL_PROGRAM")
    path = Path(chosen) if chosen else Path(__file__).parent / "_lib" / "mfl"
    if not path.is_file():
        raise Error("internal", f"no mfl program at {path}",
                    "point MFL_PROGRAM at an existing program" if chosen else "install the package: pip install .")
    return path


def main() -> None:
    """Runs the program with the arguments of this process and does not return."""
    try:
        path = str(program_path())
        os.execv(path, ["mfl", *sys.argv[1:]])
    except (Error, OSError) as error:
        sys.exit(f"mfl: {error}")
