# SPDX-License-Identifier: MIT
"""Runtime, driver and NPU simulator in one sanitized C program: exact, and safe when misused."""

from pathlib import Path

import pytest
from ethosu_tools.make_mixed import MODELS, MixedNet
from ethosu_tools.models import describe
from ethosu_tools.plan import plan_file
from ethosu_tools.vela import compile_model

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

from . import reference_cases

NPU = "ethos-u55-128"


@pytest.fixture(scope="session")
def build_run_model(repo, tmp_path_factory):
    """Builds run_model.c; `build_run_model("thread")` is a function that runs it."""

    def build(sanitizer):
        folder = tmp_path_factory.mktemp("run_model")
        sharing.make("tools/sim_host", f"SANITIZE={sanitizer}")
        library = repo / "build/sim_host" / sanitizer
        linked = [library / "libethosu_sim.so", f"-Wl,-rpath,{library}"]
        source = Path(__file__).with_name("run_model.c")
        cbuild.run([*cbuild.sanitized(sanitizer), source, *linked, "-o", folder / "run_model"])
        return lambda *given, **npu: _run(folder, *given, **npu)

    return build


def _run(folder, compiled, case, *, npu=NPU, fast=None) -> bytes:
    """Outputs of all steps."""
    rows = (array.tobytes() for row in case.inputs for array in row)
    (folder / "in").write_bytes(b"".join(rows))
    steps = str(len(case.inputs))
    arguments = [npu, compiled, folder / "in", folder / "out", steps]
    arguments += [] if fast is None else [str(fast)]
    cbuild.run([folder / "run_model", *arguments])
    return (folder / "out").read_bytes()


@pytest.fixture(scope="session")
def run_model(build_run_model):
    """Runs run_model.c under ASan and UBSan: `run_model(compiled, case)` returns the outputs."""
    return build_run_model("address")


def check(run_model, compiled, case):
    expected = b"".join(array.tobytes() for row in case.outputs for array in row)
    assert run_model(compiled, case) == expected


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_own_models(run_model, case_of, compiled, small_models, name):
    check(run_model, compiled(small_models[name], NPU), case_of(small_models[name], 20))


def pool_alone():
    net = MixedNet("pool_alone", seed=1)
    y = net.pool(net.input((1, 8, 8, 4)), "MAX_POOL_2D", 2)
    net.graph.outputs.append(y.tensor)
    return net.finish()


@pytest.mark.parametrize(("name", "fast"), [("small_cnn", 3_568), ("pool_alone", 0)])
def test_fast_scratch_on_ethos_u55(
    run_model, case_of, compiled, small_models, tmp_path, name, fast
):
    """Separate from scratch, as on Ethos-U65, if Vela compiles for Dedicated_Sram."""
    models = {**small_models, "pool_alone": tmp_path / "pool_alone.tflite"}
    models["pool_alone"].write_bytes(pool_alone())
    options = "--system-config", "Ethos_U65_High_End", "--memory-mode", "Dedicated_Sram"
    product = compiled(models[name], NPU, *options)
    assert [operator.fast_scratch_bytes for operator in describe(product).npu_operators] == [fast]
    check(run_model, product, case_of(models[name], 8))


@pytest.mark.parametrize("npu", ["ethos-u65-256", "ethos-u85-256"])
def test_fast_scratch_in_memory_of_the_driver(run_model, case_of, compiled, small_models, npu):
    """The arena has no fast scratch then. Dedicated_Sram is Vela's default."""
    model, case = small_models["small_cnn"], case_of(small_models["small_cnn"], 4)
    product = compiled(model, npu)
    (operator,) = describe(product).npu_operators
    fast = operator.fast_scratch_bytes
    assert fast > 0
    expected = b"".join(array.tobytes() for row in case.outputs for array in row)
    assert run_model(product, case, npu=npu) == expected
    assert run_model(product, case, npu=npu, fast=fast) == expected


def test_wake_word(run_model, case_of, compiled, wake_words):
    model = wake_words["okay_nabu"]
    check(run_model, compiled(model, NPU), case_of(model, 100))


def test_payload_of_the_newer_format(run_model, case_of, vela, small_models):
    model = small_models["small_cnn"]
    path = vela(model, "--accelerator-config", NPU, "--cop-format", "COP2")
    check(run_model, path, case_of(model, 20))


@pytest.mark.parametrize("sanitizer", ["address", "thread"])
def test_operators_while_the_npu_works(build_run_model, case_of, tmp_path, sanitizer):
    """The CPU runs in parallel with the NPU, which has its own thread; TSan reports no race."""
    mixed = MODELS["two_branches"]
    source, compiled = tmp_path / "source.tflite", tmp_path / "compiled.tflite"
    source.write_bytes(mixed.make())
    compile_model(source, NPU, compiled, more=mixed.options)
    assert plan_file(compiled, compiled, overlap=True).schedule.concurrent == {0: (1, 2)}
    check(build_run_model(sanitizer), compiled, case_of(source, 40))


@pytest.mark.slow
@pytest.mark.parametrize("name", reference_cases.SHARED)
def test_shared_models(run_model, case_of, compiled, shared_models, name):
    model = shared_models / f"{name}.tflite"
    check(run_model, compiled(model, NPU), case_of(model, 20))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["add", "conv", "leaky_relu"])
def test_single_operators_in_int16(run_model, case_of, compiled, shared_models, kind):
    for model in sorted((shared_models / "ops").glob(f"seanet_{kind}*.tflite")):
        check(run_model, compiled(model, NPU), case_of(model, 3))
