"""The types of the package name every keyword that it takes at run time, and nothing else."""
import ast
import inspect

import mfl
from conftest import ROOT
from mfl import _config

STUB = ast.parse((ROOT / "python" / "mfl" / "__init__.pyi").read_text(encoding="utf-8"))


def arguments(name):
    node = next(node for node in STUB.body if isinstance(node, ast.FunctionDef) and node.name == name)
    return [one.arg for one in [*node.args.args, *node.args.kwonlyargs]]


def test_keywords_are_the_keys():
    every_key = set(_config.keys().values())
    for name in ("run", "sweep"):
        stated = {word for word, one in inspect.signature(getattr(mfl, name)).parameters.items() if one.kind is not one.VAR_KEYWORD}
        words = [word for word in arguments(name) if word not in stated or word in _config.ALIASES or word == "nodes"]
        assert sorted(map(_config.key_of, words)) == sorted(every_key), name
        assert stated <= set(arguments(name))


def test_names_are_those_of_the_package():
    listed = next(ast.literal_eval(node.value) for node in STUB.body if isinstance(node, ast.Assign))
    assert listed == mfl.__all__
