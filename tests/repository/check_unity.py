#!/usr/bin/env python3
"""Checks that names in anonymous namespaces are unique among the sources of a folder: check_unity.py ROOT. Prints each name that
exists twice; exit code 1 if there is one.

The sources of a folder are compiled together. Most names that exist twice do not compile then, but a function with other parameters does:
a call may pick the overload of a neighbour. Looks at definitions that start in the first column, as the formatter leaves them.
"""
import re
import sys
from collections import defaultdict
from pathlib import Path

ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.MULTILINE | re.DOTALL)
LITERAL = re.compile(r'R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*', re.DOTALL)
TYPE = re.compile(r"^(?:struct|class|enum class|enum) ([A-Za-z]\w*)", re.MULTILINE)
ALIAS = re.compile(r"^using (\w+) = ([^;]*);", re.MULTILINE)
FUNCTION = re.compile(r"^(?!(?:using|struct|class|enum|namespace|template|static_assert|return)\b)[A-Za-z_][\w:<>,&*\s\[\]]*?[\s&*>](\w+)\(",
                      re.MULTILINE)
VARIABLES = re.compile(r"^(?:inline |static |thread_local )*(?:const|constexpr) [^(;]*?;|^(?:const|constexpr) .*?;$",
                       re.MULTILINE | re.DOTALL)
ENUMERATORS = re.compile(r"^enum \w+[^{;]*\{([^}]*)\}", re.MULTILINE)


def variables(text):
    """The names that a declaration introduces, those inside of initialisers left out."""
    for declaration in VARIABLES.finditer(text):
        depth = 0
        for word in re.finditer(r"[{(\[]|[})\]]|\bk[A-Z]\w*(?=\s*[{=\[;,])", declaration.group(0)):
            if word.group(0) in "{([":
                depth += 1
            elif word.group(0) in "})]":
                depth -= 1
            elif depth == 0 and not re.search(r"=\s*$", declaration.group(0)[:word.start()]):
                yield word.group(0)


def names_in(text):
    """The names of a source's anonymous namespaces; an alias carries its meaning, which may be repeated."""
    found = set()
    for part in ANONYMOUS.finditer(text):
        body = LITERAL.sub('""', part.group(1))
        found.update(TYPE.findall(body))
        found.update(FUNCTION.findall(body))
        found.update(variables(body))
        found.update(f"{name} = {meaning}" for name, meaning in ALIAS.findall(body))
        for enumerators in ENUMERATORS.findall(body):
            found.update(re.findall(r"\bk[A-Z]\w*(?=\s*[,=}]|\s*$)", enumerators))
    return found


def main():
    root = Path(sys.argv[1])
    wrong = 0
    for folder in sorted(path for path in (root / "mfl").iterdir() if path.is_dir()):
        places = defaultdict(set)
        for source in sorted(folder.rglob("*.cc")):
            if "kernels" in source.parts:  # compiled alone, once per SIMD target
                continue
            for name in names_in(source.read_text()):
                places[name].add(source.relative_to(root))
        aliases = defaultdict(set)
        for name in places:
            if " = " in name:
                aliases[name.split(" = ")[0]].update(places[name])
        for name, meanings in aliases.items():
            if sum(other.split(" = ")[0] == name and " = " in other for other in places) > 1 or name in places:
                places[name] |= meanings
        for name, sources in sorted(places.items()):
            if len(sources) > 1 and " = " not in name:
                wrong += 1
                print(f"{name} is defined in {' and '.join(map(str, sorted(sources)))}: rename one of them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
