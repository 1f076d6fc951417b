"""Arrays, sparse matrices and tables of others as mfl_array, without copies where the element type allows."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import data_error
from ._native import Array

AnyArray = npt.NDArray[Any]

TYPES = {"uint8": 1, "int8": 2, "uint16": 3, "int16": 4, "uint32": 5, "int32": 6, "uint64": 7, "int64": 8,
         "float32": 9, "float64": 10}
DTYPES = {number: np.dtype(name) for name, number in TYPES.items()}


@dataclass
class Features:
    """X as the native library takes it. `kept` are the objects whose memory `array` points into."""

    array: Array
    kept: tuple[Any, ...]
    rows: int
    columns: int
    names: list[str] | None = None


@dataclass
class Labels:
    """y as the native library takes it; `classes` are the values that the numbers 0, 1, ... of `values` stand for, if they do."""

    values: AnyArray
    classes: AnyArray | None = None
    name: str | None = None

    @property
    def names(self) -> list[str] | None:
        """What the library may call the classes; None if it would read a name as another number: 1.0 as 1."""
        if self.classes is None:
            return None
        names = [str(value) for value in self.classes.tolist()]
        return names if all(_is_canonical(name) for name in names) else None

    def array(self) -> Array:
        return dense(self.values.reshape(-1, 1))


def _is_canonical(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return bool(name.strip())
    return name.isascii() and name.isdigit() and int(name) <= 2**53 and str(int(name)) == name


def dense(numbers: AnyArray) -> Array:
    """An mfl_array over a matrix of a type that the library knows."""
    return Array(type=TYPES[numbers.dtype.name], data=numbers.ctypes.data, rows=numbers.shape[0], columns=numbers.shape[1],
                 row_stride=numbers.strides[0], column_stride=numbers.strides[1])


def plain(numbers: AnyArray, what: str) -> AnyArray:
    """The same numbers in a type, byte order and alignment of the library; the array itself if it has them."""
    if numbers.dtype.name in TYPES:
        wanted = numbers.dtype.newbyteorder("=")
    elif numbers.dtype.kind == "b" or numbers.dtype.name == "float16":
        wanted = np.dtype("float32")
    elif numbers.dtype.kind == "f":
        wanted = np.dtype("float64")
    elif numbers.dtype.kind in "mM":
        raise data_error(f"{what} is not numeric: it has dates or times", "turn them into numbers, such as days since a date")
    elif numbers.dtype.kind == "c":
        raise data_error(f"{what} has complex numbers", "take the real part, or the absolute values")
    else:
        try:
            return plain(numbers.astype("float64"), what)
        except (TypeError, ValueError, OverflowError) as error:
            raise data_error(f"{what} is not numeric: {error}", "encode text as numbers, for example with pandas.get_dummies") from None
    if numbers.dtype != wanted:
        numbers = numbers.astype(wanted)
    return numbers if numbers.flags.aligned else numbers.copy()


def is_table(x: object) -> bool:
    """Whether x is a DataFrame, of pandas or another library with the same methods."""
    return hasattr(x, "columns") and hasattr(x, "to_numpy") and not isinstance(x, np.ndarray)


def is_sparse(x: object) -> bool:
    return hasattr(x, "tocsr") and hasattr(x, "nnz")


def column_names(table: Any) -> list[str] | None:
    """The names of the columns of a DataFrame, if they are text: mere numbers are no names."""
    names = list(table.columns)
    return names if all(isinstance(name, str) for name in names) else None


def _table_numbers(table: Any, what: str) -> AnyArray:
    """The numbers of a DataFrame; missing values are NaN."""
    dates = [repr(name) for name, kind in zip(table.columns, table.dtypes) if getattr(kind, "kind", "") in ("m", "M")]
    if dates:
        raise data_error(f"{what} has columns of dates or times: {', '.join(dates[:5])}", "turn them into numbers, such as days since a date")
    numbers: AnyArray = table.to_numpy()
    if numbers.dtype == object:
        try:
            return np.asarray(table.to_numpy(dtype="float64", na_value=np.nan) if hasattr(table, "iloc") else numbers.astype("float64"))
        except (TypeError, ValueError):
            text = [repr(name) for name, kind in zip(table.columns, table.dtypes) if getattr(kind, "kind", "O") not in "biuf"]
            raise data_error(f"{what} has columns that are not numeric: {', '.join(text[:5]) or 'at least one'}",
                             "leave them out, or encode them with pandas.get_dummies") from None
    return numbers


def features(x: Any, what: str = "X") -> Features:
    """One row per sample. The memory of dense uint8, float32 and float64 numbers is used as it is, whatever its strides."""
    if is_sparse(x):
        return _sparse(x, what)
    names = None
    if is_table(x):
        given, names = _table_numbers(x, what), column_names(x)
    else:
        if np.ma.is_masked(x):
            raise data_error(f"{what} has masked numbers", "fill them, for example with the mean of the column, or leave out their rows")
        try:
            given = np.asarray(x)
        except ValueError as error:
            raise data_error(f"{what} is not a matrix: {error}", "give every sample the same number of features") from None
    if given.ndim == 0:
        raise data_error(f"{what} is a {type(x).__name__}, not a matrix", "give an array with one row per sample")
    if given.ndim == 1 and given.size:
        raise data_error(f"{what} has one dimension, {given.size} numbers",
                         f"reshape it: {what}.reshape(-1, 1) for one feature, {what}.reshape(1, -1) for one sample")
    if given.ndim > 2:
        raise data_error(f"{what} has {given.ndim} dimensions, {given.shape}", f"flatten samples: {what}.reshape(len({what}), -1)")
    if given.ndim != 2 or 0 in given.shape:
        raise data_error(f"{what} is empty, its shape is {given.shape}", "give at least one sample with one feature")
    numbers = plain(given, what)
    return Features(dense(numbers), (x, numbers), numbers.shape[0], numbers.shape[1], names)


def _sparse(x: Any, what: str) -> Features:
    rows = x.tocsr()
    if 0 in rows.shape:
        raise data_error(f"{what} is empty, its shape is {rows.shape}", "give at least one sample with one feature")
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    numbers = np.ascontiguousarray(plain(rows.data, what))
    index = np.dtype("int64") if "int64" in (rows.indices.dtype.name, rows.indptr.dtype.name) else np.dtype("int32")
    columns, starts = np.ascontiguousarray(rows.indices, index), np.ascontiguousarray(rows.indptr, index)
    array = Array(type=TYPES[numbers.dtype.name], index_type=TYPES[index.name], data=numbers.ctypes.data, rows=rows.shape[0],
                  columns=rows.shape[1], column_indices=columns.ctypes.data, row_starts=starts.ctypes.data)
    return Features(array, (numbers, columns, starts), rows.shape[0], rows.shape[1])


def _is_text(values: AnyArray) -> bool:
    return values.dtype.kind in "USOT"


def labels(y: Any, what: str = "y", classes: AnyArray | None = None, as_classes: bool = True) -> Labels:
    """Numbers stay numbers; text, objects and categories become the numbers of their classes. `classes` are those to use.

    Whole numbers beyond 2^53, which a float64 does not hold, become classes too. For a regression `as_classes` is False, and
    booleans and whole numbers are float64.
    """
    name = getattr(y, "name", None)
    name = str(name) if isinstance(name, (str, int)) and not isinstance(name, bool) else None
    if is_table(y):
        if len(y.columns) != 1:
            raise data_error(f"{what} has {len(y.columns)} columns", "give one label per sample")
        name = str(y.columns[0])
        y = y.iloc[:, 0] if hasattr(y, "iloc") else y.to_numpy()[:, 0]
    if str(getattr(y, "dtype", "")) == "category":
        kind = y.dtype if hasattr(y.dtype, "categories") else y.categories
        given = np.asarray(getattr(kind, "categories", kind))
        if _is_text(given):
            used = np.asarray(y)
            return _coded(used, what, name, classes if classes is not None else _distinct(used, what))
    try:
        values = np.asarray(y)
    except ValueError as error:
        raise data_error(f"{what} is not a vector: {error}", "give one label per sample") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise data_error(f"{what} has {values.ndim} dimensions, {values.shape}", "give one label per sample")
    if values.dtype == object and values.size and all(isinstance(value, (int, float, np.number)) for value in values.tolist()):
        values = np.array(values.tolist())  # numbers in objects
    if not as_classes and values.dtype.kind in "biu":
        return Labels(values.astype("float64"), None, name)
    exact = values.dtype.kind not in "iu" or not values.size or max(abs(int(values.min())), abs(int(values.max()))) <= 2**53
    if classes is not None or _is_text(values) or values.dtype.kind == "b" or not exact:
        return _coded(values, what, name, classes if classes is not None else _distinct(values, what))
    return Labels(np.ascontiguousarray(plain(values, what)), None, name)


def _distinct(values: AnyArray, what: str) -> AnyArray:
    """The classes of text labels, in the order of the library: that of their text."""
    if any(value is None or value != value for value in values.tolist()):
        raise data_error(f"{what} has missing labels", "leave out these samples")
    distinct = sorted(set(values.tolist()), key=str)
    twins = [(a, b) for a, b in zip(distinct, distinct[1:]) if str(a) == str(b)]
    if twins:
        raise data_error(f"{what} has labels that read alike, {twins[0][0]!r} and {twins[0][1]!r}", "make all labels text, or all numbers")
    return np.array(distinct, dtype=object if values.dtype == object else values.dtype)


def _coded(values: AnyArray, what: str, name: str | None, classes: AnyArray) -> Labels:
    numbers = {value: number for number, value in enumerate(classes.tolist())}
    try:
        coded = np.fromiter((numbers[value] for value in values.tolist()), dtype="int64", count=len(values))
    except (KeyError, TypeError):
        strange = next(value for value in values.tolist() if value not in numbers)
        raise data_error(f"{what} has the label {strange!r}, which the training data does not have",
                         "give training samples of every class, or leave out these samples") from None
    return Labels(coded, classes, name)


def class_values(texts: list[str], given: AnyArray | None = None, dtype: Any = None) -> AnyArray:
    """The values of classes that the library names by `texts`.

    `given` are the values that the labels had, if they were coded. Otherwise they are numbers of type `dtype`, or what all
    texts read as: whole numbers, numbers or text.
    """
    if given is not None:
        by_text = {str(value): value for value in given.tolist()}
        if all(text in by_text for text in texts):
            return np.array([by_text[text] for text in texts], dtype=given.dtype)
        return given[[int(text) for text in texts]]
    for convert in (int, float):
        try:
            return np.array([convert(text) for text in texts], dtype=dtype)
        except ValueError:
            pass
    return np.array(texts, dtype=object)
