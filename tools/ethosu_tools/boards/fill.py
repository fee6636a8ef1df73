# SPDX-License-Identifier: MIT
"""Fills dataclasses from TOML tables; errors name the wrong entry and what was expected."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

# Key of the metadata of a field that no file gives.
NO_ENTRY = "no entry"
_WORDS = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false", dict: "a table",
    list: "a list",
}  # fmt: skip


def fill(kind: Any, value: Any, where: str) -> Any:
    """Convert the value to `kind`: a dataclass, or a type of its fields.

    These types are numbers, str, Literal, `X | Y`, tuple[X, ...] from a list, and Mapping[str, X].
    `where` names the file, then the entry. Raises ValueError.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _object(kind, _of(dict, value, where), where)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{where} is {value!r}, expected one of {', '.join(arguments)}")
        return value
    if origin in (Union, types.UnionType):
        return _one_of(arguments, value, where)
    if origin is tuple:
        rows = _of(list, value, where)
        return tuple(fill(arguments[0], row, f"{where}[{at}]") for at, row in enumerate(rows))
    if origin and issubclass(origin, Mapping):
        table = _of(dict, value, where)
        return {key: fill(arguments[1], row, f"{where}.{key}") for key, row in table.items()}
    return value if kind is Any else _of(kind, value, where)


def _of(kind: type, value: Any, where: str) -> Any:
    known = (int, float) if kind is float else kind
    if not isinstance(value, known) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{where} is {value!r}, expected {_WORDS[kind]}")
    return value


def _one_of(kinds: tuple[Any, ...], value: Any, where: str) -> Any:
    """Convert to the first type that fits; errors of a list or table are those of the last."""
    errors = []
    for kind in kinds:
        if kind is not type(None):  # None is only a default: TOML cannot express it
            try:
                return fill(kind, value, where)
            except ValueError as error:
                errors.append(error)
    raise errors[-1 if isinstance(value, (list, dict)) else 0]


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _object(kind: Any, table: dict[str, Any], where: str) -> Any:
    known = {field.name: field for field in fields(kind) if NO_ENTRY not in field.metadata}
    for key in table:
        if key not in known:
            raise ValueError(f"{where} has unknown entry {key!r}, expected {', '.join(known)}")
    for name, field in known.items():
        if name not in table and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where} has no entry {name!r}")
    found = {key: fill(_hints(kind)[key], row, f"{where}: {key}") for key, row in table.items()}
    try:
        return kind(**found)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
