# SPDX-License-Identifier: MIT
"""Tests Vela in a process that serves several compilations."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import flatbuffers
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.base import helper_process
from ethosu_tools.base.errors import InputError
from ethosu_tools.compile import vela
from ethosu_tools.compile.vela_process import VelaProcess
from ethosu_tools.model import ModelFile

from host_tests.kit.models import vela_once
from host_tests.kit.process.processes import wait_for_end


@pytest.fixture
def compile_it(small_models, tmp_path, monkeypatch):
    """Return Vela's answer to a sound model, without the tests' cache."""
    monkeypatch.chdir(tmp_path)

    def run():
        options = ["--accelerator-config", "ethos-u55-64", "--output-dir", "out"]
        return vela_once._real(small_models["small_cnn"], options)

    return run


def test_one_process_serves_all(compile_it, tmp_path):
    assert "MACs/batch" in compile_it()
    helper = VelaProcess.shared()
    (tmp_path / "out/small_cnn_vela.tflite").unlink()
    assert "MACs/batch" in compile_it()
    assert (tmp_path / "out/small_cnn_vela.tflite").is_file()
    assert VelaProcess.shared() is helper


def test_it_ends_like_the_command(tmp_path):
    helper = VelaProcess.shared()
    code, said, _ = helper.run(["--version"], 60)
    assert (code, said.strip()) == (0, vela.release())
    code, _, complaint = helper.run(["--no-such-option"], 60)
    assert code == 2 and "usage: vela" in complaint
    code, _, complaint = helper.run([str(tmp_path / "absent.tflite")], 60)
    assert code == 1 and "absent.tflite" in complaint


@contextlib.contextmanager
def killed_while_it_compiles(whom, number):
    """Send a signal to Vela's process, or to its fork."""
    helper = VelaProcess.shared()._process.pid
    children = Path(f"/proc/{helper}/task/{helper}/children")

    over = threading.Event()

    def kill():
        while not over.is_set():
            with contextlib.suppress(ProcessLookupError):  # the fork has just ended
                if child := children.read_text():
                    os.kill(int(child) if whom == "fork" else helper, number)
                    return

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield helper
    finally:
        over.set()
        thread.join()


def test_a_crash_is_its_signal_and_the_next_model_is_compiled(compile_it):
    compile_it()
    with (
        killed_while_it_compiles("fork", signal.SIGSEGV) as helper,
        pytest.raises(InputError, match=r"Vela crashed on .*small_cnn.* \(signal 11\)"),
    ):
        while True:
            compile_it()
    assert "MACs/batch" in compile_it()
    assert VelaProcess.shared()._process.pid == helper


def test_a_run_that_takes_too_long_is_ended(compile_it, monkeypatch):
    compile_it()
    with monkeypatch.context() as patch:
        patch.setattr(vela, "TIMEOUT_S", 0.001)
        with pytest.raises(InputError, match=r"did not finish compiling .* within 0.001 s"):
            compile_it()
    assert "MACs/batch" in compile_it()


def test_a_process_that_ends_is_replaced(compile_it):
    compile_it()
    with (
        killed_while_it_compiles("helper", signal.SIGKILL),
        pytest.raises(InputError, match=r"small_cnn.*: its process ended with SIGKILL"),
    ):
        while True:
            compile_it()
    assert "MACs/batch" in compile_it()


def test_a_fork_has_a_process_of_its_own(compile_it):
    compile_it()
    helper = VelaProcess.shared()
    child = os.fork()
    if child == 0:
        other = VelaProcess.shared()
        os._exit(other is helper)
    assert os.waitpid(child, 0)[1] == 0
    assert VelaProcess.shared() is helper
    assert "MACs/batch" in compile_it()


def test_vela_ends_with_the_command(small_models, tmp_path):
    """Vela ends with the command, however that ends, although it is in another session."""
    code = f"""
import os, signal, threading
from pathlib import Path
from ethosu_tools.compile.vela import run_vela
from ethosu_tools.model import ModelFile
from ethosu_tools.compile.vela_process import VelaProcess
helper = VelaProcess.shared()._process.pid
def end():
    children = Path(f"/proc/{{helper}}/task/{{helper}}/children")
    while True:
        try:
            os.kill(int(child := children.read_text()), signal.SIGSTOP)  # it hangs
            break
        except (ValueError, ProcessLookupError):  # none, or it has just ended
            pass
    print(child, helper, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
threading.Thread(target=end).start()
while True:
    run_vela(Path({str(small_models["small_cnn"])!r}), ["--output-dir", {str(tmp_path)!r}])
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL
    for pid in map(int, done.stdout.split()):
        wait_for_end(pid)


def changed(model, change):
    """Change a model's tables by a function."""
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model.read_bytes(), 0))
    change(tree)
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(tree.Pack(builder), b"TFL3")
    return ModelFile(bytes(builder.Output()), name="damaged.tflite")


def weights(tree):
    """Return the first tensor with contents and two dimensions or more."""
    contents = tree.buffers
    return next(
        tensor
        for tensor in tree.subgraphs[0].tensors
        if contents[tensor.buffer].data is not None and len(tensor.shape) > 1
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda tree: setattr(weights(tree), "shape", [8, 1 << 16, 3, 3]),
            "bytes of contents, but its shape [8, 65536, 3, 3] of int8 needs 4,718,592",
        ),
        (
            lambda tree: setattr(tree.subgraphs[0].tensors[0], "shape", [1, 1 << 20, 1 << 20, 3]),
            "has a shape that no arena can hold",
        ),
        (
            lambda tree: setattr(tree.subgraphs[0].tensors[0], "shapeSignature", [-1, 1 << 30, 2]),
            "the shape signature [-1, 1073741824, 2], more than 1,073,741,824 values",
        ),
    ],
)
def test_damaged_sizes_do_not_reach_vela(small_models, monkeypatch, change, message):
    """Damaged sizes are rejected before Vela allocates as many gigabytes as they say."""
    monkeypatch.setattr(vela, "run_vela", None)
    with pytest.raises(InputError) as raised:
        vela.compiled(changed(small_models["small_cnn"], change), "ethos-u55-128")
    assert message in str(raised.value) and "damaged.tflite: tensor " in str(raised.value)


def test_vela_has_a_limit_of_memory(small_models, monkeypatch):
    """The memory limit covers Vela's forks; if Vela itself needs more, the error has a hint."""
    limits = Path("/proc") / str(VelaProcess.shared()._process.pid) / "limits"
    assert f"Max address space         {helper_process.memory_limit()} " in limits.read_text()
    monkeypatch.setenv(helper_process.MEMORY, "0.1")
    monkeypatch.setattr(helper_process, "_shared", {})
    with pytest.raises(InputError, match=r"it needs more than 0\.1 GB of memory, the limit \("):
        vela_once._real(small_models["small_cnn"], ["--accelerator-config", "ethos-u55-64"])
