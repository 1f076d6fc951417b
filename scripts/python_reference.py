"""The reference page and the type stub of the Python package, from its source: nothing is imported or run."""
import ast
import re
import textwrap

# --- the source ---

MODULES = ("mfl", "mfl.sklearn", "mfl.trainer", "mfl.torch", "mfl.flower", "mfl.federation")


class Module:
    """The source of a module and the public definitions in it."""

    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        self.defined = {node.name: node for node in self.tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        self.imported = {}  # name: (module, name there)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in node.names:
                    self.imported[name.asname or name.name] = (node.module.removeprefix("mfl."), name.name)
        self.public = []
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                self.public = ast.literal_eval(node.value)

    def comment(self, node):
        """The comment at the end of a definition's line."""
        found = re.search(r"  # (.*)$", self.text.splitlines()[node.end_lineno - 1])
        return found[1] if found else ""


class Package:
    def __init__(self, folder):
        self.modules = {path.stem: Module(path) for path in sorted(folder.glob("*.py"))}

    def find(self, module, name):
        """The module that defines a public name, and the definition."""
        here = self.modules[module]
        if name in here.defined:
            return module, here.defined[name]
        where, original = here.imported[name]
        return self.find(where, original)


# --- the page ---

INTRO = """# The Python package

Every public name of the package `mfl`, from its docstrings. [python.md](python.md) and
[python-trainers.md](python-trainers.md) explain how they are used. The keywords of `mfl.run` and `mfl.sweep` are the
keys of [config.md](config.md); editors complete them.
"""
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):$")
WIDTH = 110


def wrapped(text, first="", rest=""):
    return textwrap.wrap(" ".join(text.split()), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False)


def item(text):
    """An entry of a section, "name, name: what they are", as one of a list."""
    names, colon, rest = text.partition(":")
    if colon and "`" not in names:
        text = f"{', '.join(f'`{name.strip()}`' for name in names.split(','))}:{rest}"
    return wrapped(text, "- ", "  ")


def prose(docstring):
    """A docstring as Markdown: its sections become lists, its paragraphs are wrapped."""
    out, inside = [], False
    for block in re.split(r"\n\s*\n", docstring):
        lines = block.splitlines()
        found = SECTION.match(lines[0])
        if found:
            out += [f"{ {'Args': 'Arguments'}.get(found[1], found[1]) }:", ""]
            entries = re.split(r"\n(?=    \S)", "\n".join(lines[1:]))
            out += [line for entry in entries for line in item(entry)]
        elif lines[0].startswith("    "):  # an example
            out += lines
        else:
            out += wrapped(block)
        out.append("")
    return "\n".join(out).strip() + "\n"


def argument_texts(node):
    """The arguments of a function, each with its type and default."""
    given = node.args
    padding = [None] * (len(given.args) - len(given.defaults))
    out = [(one, default) for one, default in zip(given.args, [*padding, *given.defaults])]
    texts = [f"{ast.unparse(one)}{'' if default is None else ' = ' + ast.unparse(default)}" for one, default in out]
    texts += [f"*{ast.unparse(given.vararg)}"] if given.vararg else ["*"] if given.kwonlyargs else []
    texts += [f"{ast.unparse(one)}{'' if default is None else ' = ' + ast.unparse(default)}"
              for one, default in zip(given.kwonlyargs, given.kw_defaults)]
    return texts + ([f"**{ast.unparse(given.kwarg)}"] if given.kwarg else [])


def signature(node, name, method=False):
    """name(...) -> type; a line that is too long continues after an argument."""
    if isinstance(node, ast.ClassDef):
        made = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if made is None:
            return name
        node, method = made, True
    arguments = [text for text in argument_texts(node) if not (method and text in ("self", "cls"))]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None and ast.unparse(node.returns) != "None" else ""
    out, line = [], f"{name}("
    for i, text in enumerate(arguments):
        text += ", " if i + 1 < len(arguments) else f"){returns}"
        if len(line) + len(text) > WIDTH - 10:
            out.append(line.rstrip())
            line = "    "
        line += text
    return "\n".join([*out, line if arguments else f"{line}){returns}"])


def is_property(node):
    return any(ast.unparse(one) == "property" for one in node.decorator_list)


def is_dataclass(node):
    return any("dataclass" in ast.unparse(one) for one in node.decorator_list)


def following_text(node, field):
    """The text literal after a field of a class, which explains it."""
    after = node.body[node.body.index(field) + 1:][:1] if field in node.body else []
    said = after and isinstance(after[0], ast.Expr) and isinstance(after[0].value, ast.Constant) and after[0].value.value
    return said or ""


def members(package, module, node):
    """The public attributes and methods of a class, those of a private base in the same module included."""
    for base in node.bases:
        found = package.modules[module].defined.get(ast.unparse(base))
        if isinstance(found, ast.ClassDef) and found.name.startswith("_"):
            yield from members(package, module, found)
    for one in node.body:
        if isinstance(one, (ast.FunctionDef, ast.AnnAssign)):
            name = one.name if isinstance(one, ast.FunctionDef) else ast.unparse(one.target)
            if not name.startswith("_"):
                yield name, one


def member_lines(package, module, node):
    out = []
    for name, one in members(package, module, node):
        if isinstance(one, ast.AnnAssign):
            said = package.modules[module].comment(one) or following_text(node, one)
            if said or is_dataclass(node):
                out += wrapped(f"- `{name}: {ast.unparse(one.annotation)}`" + (f": {said}" if said else ""), rest="  ")
            continue
        said = ast.get_docstring(one)
        if not said:
            continue
        label = name if is_property(one) else " ".join(signature(one, name, method=True).split())
        first, *rest = re.split(r"\n\s*\n", said)
        out += wrapped(f"- `{label}`: {first}", rest="  ")
        out += ["", *(f"  {line}".rstrip() for line in prose("\n\n".join(rest)).splitlines())] if rest else []
    return "Fields, properties and methods:\n\n" + "\n".join(out) + "\n" if out else ""


def definition(package, module, shown):
    where, node = package.find(module, shown.rpartition(".")[2])
    said = ast.get_docstring(node)
    out = f"\n### {shown}\n\n```python\n{signature(node, shown)}\n```\n\n"
    if said:
        out += prose(said)
    if isinstance(node, ast.ClassDef):
        listed = member_lines(package, where, node)
        out += f"\n{listed}" if listed else ""
    return out


def api_page(folder):
    package, page = Package(folder), INTRO
    elsewhere = {name for module in MODULES[1:] for name in package.modules[module.removeprefix("mfl.")].public}
    for module in MODULES:
        name = "__init__" if module == "mfl" else module.removeprefix("mfl.")
        source = package.modules[name]
        page += f"\n## {module}\n\n{prose(ast.get_docstring(source.tree))}"
        for public in source.public:
            where = source.imported.get(public, ("",))[0] if module == "mfl" else ""
            if public in elsewhere and f"mfl.{where}" in MODULES:
                page += f"\n`mfl.{public}` is [mfl.{where}.{public}](#mfl{where}{public.lower()}).\n"
            else:
                page += definition(package, name, f"{module}.{public}")
    return page


# --- the stub ---

TYPES = {"text": "str", "boolean": "bool", "integer": "int", "number": "float", "text or integer": "str | int",
         "text or number": "str | float", "texts": "Sequence[str | int]", "texts or integer": "Sequence[str] | int"}


def keywords(package, keys):
    """{keyword: key}, in the order of the table. Keys with another name as keywords are those of _config.ALIASES."""
    aliases = next(ast.literal_eval(node.value) for node in package.modules["_config"].tree.body
                   if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ALIASES")
    words, found = {name: word for word, name in aliases.items()}, {}
    for key in keys:
        name = f"{key['table']}.{key['key']}"
        word = words.get(name, key["key"])
        found[word if word not in found else f"{key['table']}_{key['key']}"] = key
    return found


def type_of(key):
    """What a keyword takes: its words by name, so that editors complete them."""
    words = [word for word in dict.fromkeys([*key["choices"], key["word"]]) if word]
    if key["type"] == "boolean" or set(words) > {"true", "false"}:
        words = [word for word in words if word not in ("true", "false")]
        kind = "bool"
    else:
        kind = TYPES[key["type"]]
    if key["key"] == "class_weight":
        return "str | Sequence[float]"
    if "FILE" in key["value"]:
        return "str | os.PathLike[str]"
    literal = f"Literal[{', '.join(json_text(word) for word in words)}]" if words else ""
    if not literal:
        return kind
    open_ended = key["type"] != "text" or kind == "bool" or any(word.endswith(":") for word in words)
    return f"{kind} | {literal}" if open_ended else literal


def json_text(word):
    return '"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"'


def typed(node, words, comments):
    """A function with a line per argument, and the keys in place of **keywords."""
    arguments, lines = node.args, []
    padding = [None] * (len(arguments.args) - len(arguments.defaults))
    for argument, default in zip(arguments.args, [*padding, *arguments.defaults]):
        lines.append(f"    {ast.unparse(argument)}{'' if default is None else ' = ...'},")
    lines.append("    *,")
    stated = {argument.arg for argument in [*arguments.args, *arguments.kwonlyargs]}
    lines += [f"    {ast.unparse(argument)} = ...," for argument in arguments.kwonlyargs]
    for word, key in words.items():
        if word not in stated:
            lines += wrapped(key["help"], "    # ", "    # ") if comments else []
            lines.append(f"    {word}: {type_of(key)} | None = ...,")
    return f"def {node.name}(\n" + "\n".join(lines) + f"\n) -> {ast.unparse(node.returns)}: ...\n"


STUB_HEAD = '''# Written by scripts/reference.py; do not edit.
"""Types of the package, with every key of an experiment file as a keyword of run() and sweep()."""
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

'''


def stub(folder, keys):
    package = Package(folder)
    source = package.modules["__init__"]
    with_keys = ("run", "sweep")
    imports = {}
    for name, (module, original) in source.imported.items():
        if name in source.public and name not in with_keys:
            imports.setdefault(module, []).append(f"{original} as {name}")
    imports.setdefault("_run", []).append("OnRound")
    lines = [f"from .{module} import {name}\n" for module, names in sorted(imports.items()) for name in sorted(names)]
    text = STUB_HEAD + "".join(lines) + "\n__version__: str\n__all__ = [\n"
    text += "".join(f"    {json_text(name)},\n" for name in source.public) + "]\n"
    for name in with_keys:
        text += "\n" + typed(package.find("__init__", name)[1], keywords(package, keys), comments=name == "run")
    return text
