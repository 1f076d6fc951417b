"""The exceptions of mfl, one class per kind of failure of the native library."""
from __future__ import annotations

import json
import re


class Error(Exception):
    """Something that mfl refused or failed to do.

    Attributes:
        code: `run_failed`, `bad_config`, `bad_data`, `network` or `internal`, as in the JSON output of the program.
        exit_code: what the program would exit with.
        message: what is wrong, and where.
        hint: what to do about it; may be empty.
    """

    code: str = "internal"
    exit_code: int = 5

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.exit_code = EXIT_CODES.get(code, 5)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class RunFailed(Error):
    """The run itself failed, or a store or file cannot be written."""


class ConfigError(Error, ValueError):
    """Arguments or configuration are wrong."""


class DataError(Error, ValueError):
    """Arrays or the contents of files are wrong."""


class NetworkError(Error, ConnectionError):
    """A connection failed."""


class RunWarning(UserWarning):
    """A run that ended without a model, or a setting that mfl warns about."""


EXIT_CODES = {"run_failed": 1, "bad_config": 2, "bad_data": 3, "network": 4, "internal": 5}
CODES = {number: code for code, number in EXIT_CODES.items()}
CLASSES: dict[str, type[Error]] = {"run_failed": RunFailed, "bad_config": ConfigError, "bad_data": DataError,
                                   "network": NetworkError}


def make_error(status: int, text: str | None) -> Error:
    """The exception for a status of the native library and its JSON text."""
    try:
        told = json.loads(text or "")
    except ValueError:
        told = {}
    code = str(told.get("code") or CODES.get(status, "internal"))
    message = str(told.get("message") or "mfl failed without a message")
    return CLASSES.get(code, Error)(code, _as_keywords(message), _as_keywords(str(told.get("hint") or "")))


def _as_keywords(text: str) -> str:
    """Advice of the program on flags as advice on keywords: `--model softmax` is `model="softmax"`."""
    text = re.sub(r"--(model|precision|algorithm|standardise|partition) ([a-z0-9][\w-]*)", r'\1="\2"', text)
    text = re.sub(r"--([a-z][a-z-]+) '([^']*)'", lambda found: f'{found[1].replace("-", "_")}="{found[2]}"', text)
    return re.sub(r"(?<![\w-])--([a-z][a-z-]+)", lambda found: found[1].replace("-", "_") + "=", text)


def config_error(message: str, hint: str = "") -> ConfigError:
    return ConfigError("bad_config", message, hint)


def data_error(message: str, hint: str = "") -> DataError:
    return DataError("bad_data", message, hint)
