# SPDX-License-Identifier: MIT
"""Runners handle blocks of steps, large tensors and several models, and refuse misfits."""

from dataclasses import replace

import numpy as np
import pytest
from ethosu_tools import boards, cli
from ethosu_tools.base.errors import InputError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link import remote
from ethosu_tools.link.open import open_runner
from ethosu_tools.model import arrays, make_model, tflite
from ethosu_tools.model.samples import wake_words
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit.models import reference_cases

BOARD = boards.chosen()
NPU = BOARD.npus[0]
pytestmark = pytest.mark.on_board


def test_state_is_kept_from_block_to_block(compiled):
    check_state(compiled, "qemu")


def check_state(compiled, where):
    """State is kept over several blocks of steps, for noise that grows and fades."""
    path = wake_words.load("okay_nabu").model
    steps = 3 * remote.BLOCK_STEPS + 4
    oracle = Oracle(path)
    (tensor,) = oracle.inputs
    noise = np.random.default_rng(2025).integers(0, 256, (steps, *tensor.shape))
    swell = np.sin(np.linspace(0, np.pi, steps)).reshape(steps, 1, 1, 1)
    rows = [[x] for x in (noise * swell - 128).round().astype(tensor.dtype)]
    case = reference_cases.Case(path, rows, [oracle.step(row) for row in rows])
    assert len({row[0].tobytes() for row in case.outputs}) > 1
    reference_cases.check(case, compiled(path, NPU), where)


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_tensors_larger_than_the_window_go_in_pieces(small_models, compiled, name):
    path, window = small_models[name], BOARD.qemu.window
    small = replace(BOARD.qemu, window=replace(window, size=30))
    setup = replace(emulated(BOARD.name, NPU), facts=replace(BOARD, qemu=small))
    feed = arrays.as_feed(arrays.random_steps(tflite.describe(path).inputs, 3))
    oracle, seen = Oracle(path), set()
    with open_runner(compiled(path, NPU), "qemu", setup=setup) as runner:
        for step, (found,) in enumerate(runner.run(feed)):
            assert found.tobytes() == oracle.step(feed.step(step))[0].tobytes()
            seen.add(found.tobytes())
    assert step == 2 and len(seen) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in boards.names() if boards.load(name).qemu])
def test_a_picture_of_192_by_192_runs_on_each_emulated_board(tmp_path, name):
    """A picture of 110,592 bytes runs on each board, which the compiled file names."""
    net = make_model.Net("picture", 1)
    y = net.pool(net.conv(net.input((1, 192, 192, 3)), 8, (3, 3), (4, 4)), "MAX_POOL_2D", 16)
    source, model = tmp_path / "picture.tflite", tmp_path / "out.tflite"
    source.write_bytes(net.finish(y))
    words = ["compile", source, "--board", name, "-o", model]
    assert cli.main([str(word) for word in words]) == 0
    words = ["run", model, "--on", "qemu", "--reference", source, "--steps", "2"]
    assert cli.main([str(word) for word in words]) == 0


def test_several_models_are_open_at_once(small_models, compiled):
    path = small_models["small_cnn"]
    feed = arrays.as_feed(arrays.random_steps(tflite.describe(path).inputs, 2))
    with (
        open_runner(compiled(path, NPU), "sim") as first,
        open_runner(compiled(path, NPU), "qemu") as second,
        open_runner(compiled(path, NPU), "qemu", setup=emulated(npu=NPU, console="uart")) as third,
    ):
        results = [list(runner.run(feed)) for runner in (first, second, third)]
    assert np.array_equal(results[0], results[1]) and np.array_equal(results[0], results[2])


def test_refused_model_leaves_no_emulator_behind(small_models, compiled, monkeypatch):
    machines = []
    real = remote.Machine
    monkeypatch.setattr(
        remote, "Machine", lambda *args, **more: machines.append(real(*args, **more)) or machines[0]
    )
    with pytest.raises(InputError, match=r"ethos-u55-32.*ethosu compile"):
        open_runner(compiled(small_models["small_cnn"], "ethos-u55-32"), "qemu", npu=NPU)
    assert len(machines) == 1 and not machines[0].running()


@pytest.mark.parametrize(
    ("model_npu", "npu"),
    [("ethos-u85-512", "ethos-u55-128"), ("ethos-u55-128", "ethos-u85-512")],
)
def test_every_runner_rejects_a_model_for_another_npu_alike(small_models, compiled, model_npu, npu):
    """Every runner rejects another NPU's model with the same error; some boards list NPUs."""
    model = compiled(small_models["small_cnn"], model_npu)
    words = set()
    for where in ("sim", "qemu"):
        with pytest.raises(InputError) as caught:
            open_runner(model, where, npu=npu)
        words.add(str(caught.value).partition("; NPUs of this board: ")[0])
    assert words == {
        f"{model}: model was compiled for {model_npu}, the NPU is {npu}; "
        f"run: ethosu compile MODEL.tflite --npu {npu}"
    }


def test_a_wrong_file_is_refused_before_a_board_is_opened(small_models, monkeypatch):
    for module, name in ((remote, "Board"), (remote, "Machine")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("a board was opened"))
    for where in ("/dev/none", "qemu", "sim"):
        with pytest.raises(InputError, match=r"never compiled.*run: ethosu compile"):
            open_runner(small_models["small_cnn"], where, npu=NPU)
