# SPDX-License-Identifier: MIT
"""Collects files for a ROM file system, and rejects models that no board can run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import InputError, SetupError, UsageError
from ..base.ui import Ui
from ..compile.strip import strip_checked
from ..model import DATA, ModelFile, ProgramDescription, c_array, data_path, is_model, romfs
from ..model.vela_versions import warn
from ..sim.need import Need


@dataclass(frozen=True)
class RomFiles:
    """The files, the needs of the models among them by path, and warnings for the user."""

    tree: romfs.Tree
    needs: dict[str, Need]
    warnings: list[str]


def collect(
    paths: Sequence[Path], ui: Ui, *, strip: bool = False, force: bool = False, hint: str
) -> RomFiles:
    """Read files and directories, with the data files of programs; `strip` ExecuTorch programs.

    A model that no board can run raises InputError, which ends with `hint`; with `force` it becomes
    a warning.
    """
    files, warnings = dict(romfs.files(_read(paths))), list[str]()
    models = _models(files)
    for model in models.values():
        warn(ui, model)
    if strip:  # before the sizes are checked
        models = {name: _strip(model, warnings) for name, model in models.items()}
        files |= {name: model.data for name, model in models.items()}
    needs = _check_models(models, warnings, force=force, hint=hint)
    return RomFiles(romfs.tree_of(files), needs, warnings)


def _read(paths: Sequence[Path]) -> romfs.Tree:
    """Read all files by name, including the data files of programs."""
    tree: dict[str, Any] = {}

    def add(path: Path) -> None:
        for name, content in romfs.read_tree(path).items():
            if isinstance(content, bytes) and c_array.find(content):
                raise InputError(
                    f"{path} is C source with a model as an array: the board takes the model itself"
                )
            if name in tree:
                raise UsageError(f"two of the files are named {name}: {path} is the second")
            tree[name] = content

    for path in paths:
        add(path)
    for path in paths:
        data = data_path(path, tree[path.name]) if path.is_file() else None
        if data and data.is_file() and data not in paths:
            add(data)
    return tree


def _models(files: dict[str, bytes]) -> dict[str, ModelFile]:
    """Find the models among the files, with their data files."""
    return {
        name: ModelFile(data, files.get(str(data_path(Path(name), data))), name=name)
        for name, data in files.items()
        if is_model(data)
    }


def _check_models(
    models: dict[str, ModelFile], warnings: list[str], *, force: bool, hint: str
) -> dict[str, Need]:
    """Reject models that no board can run; returns the needs of the others, adds warnings."""
    needs = {}
    for name, model in models.items():
        wrong = []
        try:
            description = model.compiled
            if isinstance(description, ProgramDescription):
                missing = (
                    f"operator {operator} is not in the firmware"
                    for operator in description.missing
                )
                absent = (
                    f"data {key} is not in a {DATA.suffix} with the program's name"
                    for key in description.external
                )
                wrong = [*missing, *absent]
                warnings += [f"{name}: {note}" for note in description.notes]
            if not wrong:
                needs[name] = Need.of(model)
        except InputError as error:
            wrong = [str(error).removeprefix(f"{name}: ")]
        except SetupError as error:
            warnings.append(f"{name} was not checked: {error}")
        if wrong and not force:
            raise InputError(f"{name} would not load: {'; '.join(wrong)}. {hint}")
        warnings += [f"{name}: {reason}" for reason in wrong]
    return needs


def _strip(model: ModelFile, warnings: list[str]) -> ModelFile:
    """Strip a program, if it can be loaded."""
    try:
        return strip_checked(model)
    except InputError as error:  # _check_models() decides whether it is sent anyway
        warnings.append(f"{model} was not stripped: {error}")
        return model
