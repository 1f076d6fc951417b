#!/usr/bin/env python3
"""Tests scripts/reference.py and python_reference.py on a small made-up package and table of keys."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import python_reference  # noqa: E402
import reference  # noqa: E402

PACKAGE = {
    "__init__.py": '"""The package."""\nfrom ._run import run, sweep\n__all__ = ["run", "sweep"]\n',
    "_config.py": 'ALIASES = {"model": "model.name", "label": "data.label"}\n',
    "_run.py": '''OnRound = None
def run(config: str | None = None, *, model: str | None = None, **keywords: Any) -> Result:
    """Trains.

    Args:
        config, model: two things
            on two lines.

    Text.
    """
def sweep(config: str | None = None, **keywords: Any) -> Sweep:
    """Trains many."""
''',
    "sklearn.py": '"""Estimators."""\n__all__ = []\n',
}
for module in ("trainer", "torch", "flower", "federation"):
    PACKAGE[f"{module}.py"] = f'"""{module}."""\n__all__ = []\n'


def key(table, name, what, **more):
    return {"table": table, "key": name, "flag": f"--{name}", "value": "X", "help": f"what {name} is", "type": what, "word": "",
            "default": "1", "choices": [], "in_digest": True, **more}


KEYS = [key("data", "label", "text or integer"), key("model", "name", "text", kind="model", entries=[
    {"usage": "svm(c=1)", "aliases": ["hinge"], "description": "a line", "parameters": [{"name": "c", "help": "cost", "range": "a number"}]}]),
        key("run", "steps", "integer", word="auto"), key("run", "precision", "text", choices=["f32", "f64"], in_digest=False),
        key("schema", "label", "text")]


class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in PACKAGE.items():
            (self.root / name).write_text(text, encoding="utf-8")

    def test_keys(self):
        page = reference.config_page(KEYS)
        self.assertIn("## [run]\n\n| key | default | flag | what it sets |\n|---|---|---|---|\n| `steps` | `1` | `--steps X` |", page)
        self.assertIn("| `precision` `*` |", page)
        self.assertIn("| `svm(c=1)`, `hinge` | a line; `c`: cost, a number |\n", page)

    def test_types_have_every_key_once(self):
        text = python_reference.stub(self.root, KEYS)
        compile(text, "stub", "exec")
        run = text[text.index("def run"):text.index("def sweep")]
        for line in ("    label: str | int | None = ...,\n", '    steps: int | Literal["auto"] | None = ...,\n',
                     '    precision: Literal["f32", "f64"] | None = ...,\n', "    schema_label: str | None = ...,\n"):
            self.assertEqual(run.count(line), 1, line)
        self.assertEqual(run.count("model:"), 1)
        self.assertIn("    model: str | None = ...,\n", text[text.index("def sweep"):])

    def test_docstrings(self):
        page = python_reference.api_page(self.root)
        self.assertIn("### mfl.run\n\n```python\nmfl.run(config: str | None = None, *, model: str | None = None, **keywords: Any) -> Result\n```", page)
        self.assertIn("Arguments:\n\n- `config`, `model`: two things on two lines.\n\nText.\n", page)

    def test_differences(self):
        (self.root / "a.md").write_text("one\ntwo\n", encoding="utf-8")
        self.assertEqual(reference.differences({"a.md": "one\ntwo\n"}, self.root), [])
        self.assertEqual(reference.differences({"a.md": "one\n2\n", "b.md": "new\n"}, self.root), ["a.md: -two", "b.md: +new"])


if __name__ == "__main__":
    unittest.main()
