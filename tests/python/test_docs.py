"""The examples of the documentation: every ```pycon block runs, in order, and prints what it shows."""
import doctest
import os
import re
import warnings

import pytest

from conftest import ROOT

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_examples(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MFL_STORE", str(tmp_path / "program.db"))
    monkeypatch.setenv("PATH", os.path.dirname(os.environ["MFL_PROGRAM"]) + os.pathsep + os.environ["PATH"])
    text = (ROOT / name).read_text(encoding="utf-8")
    runner, values, said = doctest.DocTestRunner(optionflags=FLAGS), {"__name__": "__main__"}, []
    blocks = list(BLOCK.finditer(text))
    assert blocks, f"{name} has no examples"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            line = text.count("\n", 0, block.start()) + 1
            test = doctest.DocTestParser().get_doctest(block[1], values, f"{name}:{line}", name, line)
            test.globs = values
            runner.run(test, out=said.append, clear_globs=False)
    assert runner.failures == 0, "".join(said)
    print(f"{runner.tries} examples of {name}")
