# SPDX-License-Identifier: MIT
"""The C library: driver, runtime and simulator; add-ons have others.

Its structures and functions are generated from the headers by `make library-binding` with cffi.
"""

import contextlib
import os
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from . import addons, paths
from .errors import InputError, SetupError

# Statuses that are not errors.
OK, PENDING = 0, 1


def ffi() -> Any:
    """Return cffi's FFI, or what an add-on has instead for the simulator that it runs."""
    return _ffi_for(os.environ.get("ETHOSU_SIM_LIBRARY"), os.environ.get("ETHOSU_ROOT"))


@cache
def _ffi_for(_library: str | None, _root: str | None) -> Any:
    """Look for the files once for each choice: the FFI is asked for with each value."""
    other = _of_addon(paths.host_library_file())
    return other.ffi if other else _native_ffi()


def _of_addon(path: Path) -> Any:
    """Load a library that is not for this machine but for an add-on, which runs it; else None."""
    kind = addons.load("simulator", f"{path.parent.name}/{path.name}")
    return _open(kind, path) if kind else None


@cache
def _open(kind: Any, path: Path) -> Any:
    return kind(path, _native_ffi())


@cache
def _native_ffi() -> Any:
    """Load the declarations of the structures and functions, as cffi's FFI."""
    path = paths.library_binding()
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise SetupError(f"{path} is not a Python module; run: make library-binding")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ffi


@cache
def load(path: Path, target: str, *required: str) -> Any:
    """Load a library built by `make target`, which must have the `required` functions."""
    try:
        library = _of_addon(path) or _native_ffi().dlopen(str(path))
        for name in ("ethosu_model_describe", "ethosu_model_load", *required):
            getattr(library, name)
    except (OSError, AttributeError, _native_ffi().error) as error:
        raise SetupError(
            f"{path} is incompatible with these tools ({error}); run: make {target}"
        ) from error
    return library


def load_sim(path: Path | None = None) -> Any:
    """Load the library with the simulator."""
    return load(path or paths.host_library(), "sim-host", "sim_host_open")


@cache
def describing() -> Any:
    """A library that can describe models; those of add-ons can, too."""
    try:
        return load_sim()
    except SetupError as error:
        for other in addons.every("library").values():
            with contextlib.suppress(SetupError):
                return other()
        raise error from None


def check(status: int, error: Any) -> None:
    """Raise InputError with the library's message unless a call succeeded."""
    if status != OK:
        raise InputError(text_of(error))


def text_of(error: Any) -> str:
    """Return the message of a struct ethosu_model_error."""
    return str(ffi().string(error.text).decode(errors="replace"))
