#!/usr/bin/env python3
"""Checks that no two headers define a type of the same name: check_names.py ROOT. Prints each pair; exit code 1 if there is one.

All of mfl links into one program and one library. Two types of one name in one namespace share their inline functions there, which the
linker does not report.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

NAMESPACE = re.compile(r"^namespace ([a-z_:]+) \{", re.MULTILINE)
TYPE = re.compile(r"^(?:struct|class|enum class) ([A-Z]\w*)(?: final)?(?: : [^;{]*)? \{", re.MULTILINE)


def main():
    places = defaultdict(list)
    root = Path(sys.argv[1])
    for header in sorted((root / "mfl").rglob("*.h")):
        text = header.read_text()
        namespaces = [(m.start(), m.group(1)) for m in NAMESPACE.finditer(text)]
        for found in TYPE.finditer(text):
            inside = [name for start, name in namespaces if start < found.start()]
            places[inside[-1] if inside else "", found.group(1)].append(header.relative_to(root))
    wrong = {name: headers for name, headers in places.items() if len(headers) > 1}
    for (namespace, name), headers in sorted(wrong.items()):
        print(f"{namespace}::{name} is defined in {' and '.join(map(str, headers))}: rename one of them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
