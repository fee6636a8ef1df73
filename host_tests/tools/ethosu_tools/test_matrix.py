# SPDX-License-Identifier: MIT
"""Commands that print the same quantity print the same value, for each file and board.

A row has one command's values for a file on a board, which must equal those of all other commands,
to the last digit. A command that refuses the file reports that it does not run there.
"""

import json
import sys
from collections.abc import Iterator

import pytest
from ethosu_tools import boards
from ethosu_tools.model import ModelFile, make_model
from ethosu_tools.model.tflite import writer

from host_tests.kit import found as kit_found
from host_tests.kit.models import mixed_models

QUICK = ("MPS3_AN547", "NUMAKER_M55M1", "GROVE_VISION_AI_V2")
ALL = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in boards.names()
]
# Models that fit without reserved heap lack heap on some boards.
RESERVE = "--reserve=900K"
OF_ALL = ("check all", "check --chips")
NPUS = {"u55-64": "ethos-u55-64", "u85": "ethos-u85-256"}
# Files of add-ons.
ADDED = tuple(kit_found.modules("matrix_rows"))
MODELS = (
    *("small_cnn", "float_io", "two_branches", "segmenter", "wide", "no_kernel", "lstm"),
    *NPUS,
    *(name for each in ADDED for name in each.NAMES),
)


@pytest.fixture(scope="module")
def files(tmp_path_factory, small_models, compiled, shared_models):
    """Return the files by name, some as trained, some compiled already."""
    folder = tmp_path_factory.mktemp("matrix")
    found = {name: folder / f"{name}.tflite" for name in MODELS}
    found["small_cnn"] = small_models["small_cnn"]
    for name in ("float_io", "two_branches", "segmenter"):
        found[name].write_bytes(mixed_models.MODELS[name].make())
    net = make_model.Net("wide", 1)
    x = net.conv(net.input((1, 192, 192, 32)), 32, (1, 1))
    found["wide"].write_bytes(net.finish(net.conv(x, 32, (1, 1))))
    graph = writer.Graph("float")
    x, y = (graph.tensor(name, (1, 4), "float32") for name in "xy")
    graph.inputs, graph.outputs = [x], [y]
    graph.operator("TANH", [x], [y])
    found["no_kernel"].write_bytes(writer.write([graph], "float"))
    found |= {name: compiled(small_models["small_cnn"], npu) for name, npu in NPUS.items()}
    found["lstm"] = shared_models / "trained_lstm_int8.tflite"
    for each in ADDED:
        found |= each.make(folder)
    return found


def of_fit(fit):
    """Return the values of a comparison with a board."""
    if not fit:
        return {}
    found = {
        key: fit["need"][key] for key in ("npu", "arena", "heap", "fast", "image", "constants")
    }
    found |= {"status": fit["status"], "runs": not fit["short"], "lacks": fit["lacks"]}
    return found


def of_latency(estimate):
    """Return the values of an estimate."""
    keys = ("cycles", "ms", "low_ms", "high_ms", "basis", "frames_per_second", "cpu_operators")
    return {key: estimate[key] for key in keys if key in estimate} if estimate else {}


def of_check(row):
    """Return `check`'s values for a board."""
    fit = {key: row[key] for key in ("need", "status", "short", "lacks")}
    found = of_fit(fit) if row["need"] else {"runs": False, "status": row["status"]}
    return found | of_latency(row["estimate"])


def of_layers(rows):
    """Return the layers on the NPU, and their sum."""
    layers = [(row["name"], row["macs"], row["cycles"]) for row in rows if row.get("on") != "cpu"]
    return {"layers": layers, "cycles": sum(cycles for *_, cycles in layers)}


_KNOWN = {}


class Matrix:
    """Runs the commands."""

    def __init__(self, ethosu, folder):
        """Write files to the folder."""
        self._ethosu, self._folder = ethosu, folder

    def __call__(self, *words):
        """Run a command; returns exit code and data, which are kept for commands on all boards."""
        if words not in _KNOWN:
            code, out, err = self._ethosu(*words, "--json", "--quiet")
            assert code in (0, 3), err
            _KNOWN[words] = code, json.loads(out) if out.startswith("{") else None
        return _KNOWN[words]

    def compiled(self, file, board):
        """Compile for this board; returns the file, or None, and the data of `compile`."""
        path = self._folder / f"{file.stem}_{board}.tflite"
        code, data = self("compile", file, RESERVE, "--board", board, "--force", "-o", path)
        if code or "refused" in data:
            return None, {"runs": False}
        return path, of_fit(data.get("fit")) | of_latency(data.get("latency"))

    def rows(self, file, board, npu, *, compiled) -> Iterator[tuple[str, dict]]:
        """Yield each command's values for the file on the board."""
        _, data = self("check", file, RESERVE, "--board", board)
        yield from self._of_check("check", data, board, npu)
        code, data = self("check", file, RESERVE, "--board", board, "--npu", npu)
        if code and "boards" not in data:
            yield "check --npu", {"runs": False}
        else:
            yield from self._of_check("check --npu", data, board, npu)
        code, data = self("profile", file, "--board", board, "--npu", npu)
        said = {} if code else of_latency(data["estimate"]) | of_layers(data["layers"])
        yield "profile", said or {"runs": False}
        if compiled:
            code, data = self("inspect", file)
            yield "inspect", {key: data[key] for key in ("npu", "cpu_operators")}
            copy = self._folder / file.stem / f"model{file.suffix}"
            copy.parent.mkdir()
            copy.write_bytes(file.read_bytes())
            code, data = self("deploy", copy, "-o", self._folder / f"{file.stem}.img")
            yield "deploy", {"runs": False} if code else {"image": data["bytes"]}

    def tables(self, file, board, npu) -> Iterator[tuple[str, dict]]:
        """Yield the values for this board of commands for all boards."""
        _, data = self("check", file, RESERVE)
        yield from self._of_check("check all", data, board, npu)
        _, data = self("check", file, RESERVE, "--chips")
        yield from self._of_check("check --chips", data, board, npu)

    def _of_check(self, name, data, board, npu):
        for row in data["boards"] if data else ():
            usual = row["weights"] == next(iter(boards.load(board).estimate.weights))
            if row["board"] == board and (row["npu"] == npu or row["status"][0] == "c") and usual:
                yield name, of_check(row)


def disagreements(rows, *, emulated=False):
    """Return quantities that commands print with different values, with these values.

    If only the emulator of the board has this NPU, tables of all boards do not count it.
    """
    if emulated:
        tables = [row for row in rows if row[0] in OF_ALL]
        return disagreements(tables) | disagreements([row for row in rows if row not in tables])
    found = {}
    for name, row in rows:
        for quantity, value in row.items():
            found.setdefault(quantity, []).append((name, value))
    return {
        quantity: values
        for quantity, values in found.items()
        if any(value != values[0][1] for _, value in values)
    }


@pytest.mark.parametrize("board", ALL)
@pytest.mark.parametrize("model", MODELS)
def test_all_commands_agree(ethosu, files, tmp_path, model, board):
    ask, file = Matrix(ethosu, tmp_path), files[model]
    facts = boards.load(board)
    own, done = ModelFile(file).description.npu, ModelFile(file).description.compiled
    npu = own or facts.npus[0]
    rows = list(ask.rows(file, board, npu, compiled=done))
    if done or model == "small_cnn" or board not in QUICK:  # other files compile for each board
        rows += ask.tables(file, board, npu)
    assert len(rows) > 2
    differing = disagreements(rows, emulated=npu not in facts.npus)
    if not done:
        made, said = ask.compiled(file, board)
        differing |= disagreements([*rows, ("compile", said)])
        if made:
            after = [*ask.rows(made, board, npu, compiled=True), *ask.tables(made, board, npu)]
            again = disagreements([*after, ("compile", said)])
            differing |= {f"compiled: {key}": values for key, values in again.items()}
    for quantity, values in differing.items():
        sys.stderr.write(f"DIFFERS {model} {board} {quantity}: {values}\n")
    assert not differing


@pytest.mark.parametrize("board", ALL)
def test_the_emulator_takes_the_estimated_cycles(ethosu, files, tmp_path, board):
    """The emulator takes exactly the estimated cycles, since both use the same memories."""
    ask = Matrix(ethosu, tmp_path)
    made, said = ask.compiled(files["segmenter"], board)
    code, data = ask("profile", made, "--on", "qemu", "--count=1")
    assert code == 0 and data["system"] == board
    assert data["npu_cycles"] == data["npu_active"] == data["estimate"]["cycles"] == said["cycles"]
