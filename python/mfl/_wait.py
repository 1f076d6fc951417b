"""Waiting for a native call: signals are handled at once, a progress bar is drawn, the call stops at the end of a round."""
from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ._native import Experiment
from ._native import Progress as NativeProgress

T = TypeVar("T")
POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Progress:
    """Where a run is after a round; of a sweep, its settings together."""

    step: int
    steps: int
    round: int
    settings: int
    settings_done: int
    train_loss: float
    """F(w) over all samples, as it was last measured; NaN before that."""
    seconds: float
    batch_loss: float = float("nan")
    """The mean over the batches of the last round; NaN where it was not measured."""
    start_loss: float = float("nan")
    """The loss of where nodes start, if that is not w; NaN where it was not measured."""

    @property
    def loss(self) -> tuple[str, float]:
        """The one that every round of this run has, with its name."""
        for name in ("batch_loss", "start_loss"):
            if not math.isnan(getattr(self, name)):
                return name, getattr(self, name)
        return "train_loss", self.train_loss


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell else None
    return type(current).__name__ == "ZMQInteractiveShell"


class Bar:
    """A progress bar of tqdm. Nothing is drawn without tqdm, or if `wanted` is False; None is yes in a terminal or a notebook."""

    def __init__(self, wanted: bool | None) -> None:
        self._bar: Any = None
        self._make: Any = None
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if wanted or (wanted is None and (terminal or _in_notebook())):
            try:
                from tqdm import tqdm
                self._make = tqdm
            except ImportError:
                return
            if _in_notebook():
                try:
                    import ipywidgets  # noqa: F401
                    from tqdm.notebook import tqdm as notebook_tqdm
                    self._make = notebook_tqdm
                except ImportError:
                    pass

    @property
    def drawn(self) -> bool:
        return self._make is not None

    def show(self, progress: Progress | None) -> None:
        if progress is None or self._make is None:
            return
        if self._bar is None:
            self._bar = self._make(total=progress.steps, unit="step", desc="mfl", leave=False)
        if progress.settings > 1:
            self._bar.set_postfix(settings=f"{progress.settings_done}/{progress.settings}", refresh=False)
        else:
            name, value = progress.loss
            self._bar.set_postfix({"round": progress.round, name: f"{value:.4g}"}, refresh=False)
        self._bar.update(progress.step - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


@dataclass
class Outcome:
    """Whether the user interrupted the call."""

    interrupted: bool = False


def _on_thread(work: Callable[[], T], poll: Callable[[], None], interrupt: Callable[[], None]) -> T:
    """Runs `work` on a thread of its own while this one waits, because Python handles signals between two of its own steps only.

    The first Ctrl-C calls `interrupt` and waits on; a second one is raised, and the thread ends by itself.
    """
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def body() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    asked = False
    thread = threading.Thread(target=body, name="mfl", daemon=True)
    thread.start()
    while not done.is_set():
        try:
            done.wait(POLL_SECONDS)
            poll()
        except KeyboardInterrupt:
            if asked:
                raise
            asked = True
            interrupt()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def run_native(experiment: Experiment, work: Callable[[], T], progress: bool | None,
               callback: Callable[[Progress], Any] | None) -> tuple[T, Outcome]:
    """Runs `work`, which trains `experiment`, with a bar, the user's callback and Ctrl-C."""
    bar, outcome = Bar(progress), Outcome()
    latest: list[Progress] = []
    raised: list[BaseException] = []

    def on_round(native: NativeProgress) -> bool:
        seen = Progress(native.step, native.steps, native.round, native.settings, native.settings_done, native.train_loss,
                        native.seconds, native.batch_loss, native.start_loss)
        latest[:] = [seen]
        if callback is None or raised:
            return bool(raised)
        try:
            return callback(seen) is True
        except BaseException as error:
            raised.append(error)
            return True

    def interrupt() -> None:
        outcome.interrupted = True
        print("mfl: stopping at the end of this round; Ctrl-C again leaves at once", file=sys.stderr, flush=True)
        experiment.stop()

    def poll() -> None:
        bar.show(latest[0] if latest else None)
        if outcome.interrupted:
            experiment.stop()  # again, in case the run had not begun

    if bar.drawn or callback is not None:
        experiment.hooks(on_round, None)
    try:
        if threading.current_thread() is threading.main_thread():
            result = _on_thread(work, poll, interrupt)
        else:
            result = work()
        if bar.drawn and latest:
            bar.show(latest[0])
    finally:
        bar.close()
    if raised:
        raise raised[0]
    return result, outcome
