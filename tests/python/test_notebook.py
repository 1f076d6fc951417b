"""Notebooks: a result shows itself as a table with a curve, and the stop button stops a run at the end of a round."""
import time

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

TRAIN = """
import mfl
import numpy as np
x = np.random.default_rng(0).normal(size=(3000, 200)).astype("float32")
y = (x[:, 0] > 0).astype(int)
"""


def test_result_shows_itself():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(TRAIN + 'mfl.run(X=x, y=y, model="logistic", rounds=200)')])
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = notebook.cells[0].outputs
    shown = [output.data for output in outputs if output.output_type == "execute_result"]
    assert "<svg" in shown[0]["text/html"] and "train loss" in shown[0]["text/plain"]
    assert not any(output.output_type == "error" for output in outputs)


@pytest.fixture
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_stop_button(kernel):
    manager, client = kernel
    texts = []

    def said(message):
        if message["msg_type"] == "stream":
            texts.append(message["content"]["text"])

    client.execute_interactive(TRAIN, timeout=60, output_hook=said)
    client.execute("result = mfl.run(X=x, y=y, rounds=100000, eta=0.001)")
    time.sleep(2)
    manager.interrupt_kernel()
    client.execute_interactive("print(result.status, result.rounds > 0)", timeout=60, output_hook=said)
    assert "interrupted True" in "".join(texts)
