"""Experiments out of files, text, dictionaries and keywords."""
from __future__ import annotations

import difflib
import functools
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ._errors import ConfigError, config_error
from ._native import Experiment

# Keywords whose key has another name. Where two tables have a key, the keyword is that of [data], as on the command line.
ALIASES = {"data": "data.source", "model": "model.name", "algorithm": "algorithm.name", "name": "run.name", "lambda_": "model.lambda",
           "features": "data.features", "label": "data.label", "task": "data.task", "positive": "data.positive",
           "device_speed": "devices.speed", "device_dropout": "devices.dropout"}


@functools.cache
def keys() -> dict[str, str]:
    """Every keyword and the key it sets: {"eta": "algorithm.eta", ...}. `TABLE_KEY` names every key as well."""
    tables = tomllib.loads(Experiment().config())
    found: dict[str, str] = {}
    for table, values in tables.items():
        for key in values:
            found.setdefault(key, f"{table}.{key}")
            found[f"{table}_{key}"] = f"{table}.{key}"
    return {**found, **ALIASES}


# Keys whose value is a list.
LISTS = {"data.drop", "data.features", "schema.features", "schema.classes", "model.class_weight"}


def value_text(key: str, value: Any) -> str:
    """A value as a flag of the program takes it."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        if key not in LISTS:
            raise config_error(f"{key} is one value, and a list of {len(value)} is given",
                               "name a file of row numbers per node: partition=\"file:PATH\"" if key == "federation.partition"
                               else "mfl.sweep trains every value of a list")
        return json.dumps([value_text("", part) for part in value]) if key != "model.class_weight" else ",".join(map(str, value))
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (str, int, float)):
        return str(value)
    raise config_error(f"{key} = {value!r}: a {type(value).__name__} is no value of a key", "give a number, a text or a list")


def _unknown(word: str) -> NoReturn:
    """Raises the error for a word that is no key, with the library's word for one of other frameworks, or the nearest key."""
    try:
        Experiment().set(f"schema.{word}", "")  # a table that no such word belongs to: the answer names another
    except ConfigError as error:
        found = re.search(r'did you mean "(\w+)" in \[(\w+)\]', error.message)
        note = re.search(r"\[schema\]; (?!did you mean|known:)(.+)$", error.message)
        if note:
            raise config_error(f'unknown keyword "{word}"; {note[1]}', "mfl keys lists all keys") from None
        if found:
            key = f"{found[2]}.{found[1]}"
            meant = next((alias for alias, known in ALIASES.items() if known == key), found[1])
        else:
            near = difflib.get_close_matches(word, [key.split(".")[1] for key in keys().values()] + list(ALIASES), n=1)
            meant = near[0] if near else ""
        raise config_error(f'unknown keyword "{word}"' + (f"; did you mean {meant}?" if meant else ""),
                           "mfl keys lists all keys") from None
    raise config_error(f'unknown keyword "{word}"', "mfl keys lists all keys")


def key_of(word: str) -> str:
    """The key that a keyword or a dotted name sets."""
    if "." in word:
        return word
    found = keys().get(word)
    return found if found else _unknown(word)


def flat(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The keys and values of a dictionary: nested by table, dotted, or keywords. None leaves a key as it is."""
    for word, value in settings.items():
        if not isinstance(word, str):
            raise config_error(f"{word!r} is no name of a key", "names are text, such as \"algorithm.eta\"")
        if isinstance(value, Mapping):
            for key, inner in value.items():
                if inner is not None:
                    yield f"{word}.{key}", inner
        elif value is not None:
            yield key_of(word), value


def read_config(config: Any) -> tuple[str, Mapping[str, Any]]:
    """A path, TOML text or a dictionary, as TOML text and settings that override it."""
    if config is None:
        return "", {}
    if isinstance(config, Mapping):
        return "", config
    if isinstance(config, str) and ("\n" in config or "=" in config or config.startswith("[")):
        return config, {}
    if isinstance(config, (str, os.PathLike)):
        path = Path(config)
        try:
            return path.read_text(encoding="utf-8"), {}
        except OSError as error:
            raise config_error(f"cannot read the experiment file {path}: {error.strerror}",
                               "give a path, TOML text such as '[algorithm]\\neta = 0.1', or a dictionary") from None
        except UnicodeDecodeError:
            raise config_error(f"{path} is not UTF-8 text", "give an experiment file in TOML") from None
    if hasattr(config, "shape") or isinstance(config, (list, tuple)):
        raise config_error("the first argument is an experiment, and this is an array", "name the arrays: mfl.run(X=X, y=y)")
    raise config_error(f"the experiment is a {type(config).__name__}", "give a path, TOML text or a dictionary")


# Keys that say the same in two ways, and the texts that unset them.
WAYS = (("run.steps", "auto", "run.rounds", "0"), ("algorithm.tau", "auto", "algorithm.local_epochs", "0"))

# Keys of data that is read from files.
OF_FILES = {"data.source", "data.test_source", "data.label", "data.header", "data.drop", "data.features", "data.separator"}


def make_experiment(config: Any, keywords: Mapping[str, Any]) -> Experiment:
    """An experiment; keywords override what `config` says."""
    text, settings = read_config(config)
    experiment = Experiment(text)
    for chosen in (settings, keywords):
        layer = {key: value_text(key, value) for key, value in flat(chosen)}
        for one, no_one, other, no_other in WAYS:
            given, others = layer.get(one, no_one) != no_one, layer.get(other, no_other) != no_other
            if given != others:
                experiment.set(*((other, no_other) if given else (one, no_one)))
        for key, value in layer.items():
            experiment.set(key, value)
    return experiment


def refuse_ignored(keywords: Mapping[str, Any], arrays: bool) -> None:
    """An error for a keyword about data of files beside arrays, which take its place."""
    for word, value in keywords.items():
        if arrays and value is not None and key_of(word) in OF_FILES:
            raise config_error(f"{word} is about data that mfl reads from files, and X and y are given", f"leave out {word}, or X and y")


def states_model(config: Any, keywords: Mapping[str, Any]) -> bool:
    """Whether one of the two, which make_experiment() has taken, names a model."""
    text, settings = read_config(config)
    stated = {key for chosen in (settings, keywords) for key, _ in flat(chosen)}
    return "model.name" in stated or "name" in tomllib.loads(text).get("model", {})
