# SPDX-License-Identifier: MIT
"""Each subgraph that a signature names is a model of its own.

The files are merged from other models; the expected values are those of LiteRT's signature runners
and of the models before the merge.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ethosu_tools import cli
from ethosu_tools.base.errors import InputError, UsageError
from ethosu_tools.compile import vela
from ethosu_tools.link.open import open_runner
from ethosu_tools.model import ModelFile
from ethosu_tools.model.tflite import signatures, writer
from ethosu_tools.model.tflite.merged import merge, tree_of
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit.board_models import MODEL, load, raised
from host_tests.kit.models import mixed_models, reference_cases
from host_tests.modules.ethosu.runtime.kernels import cases, maker  # noqa: F401

NPU = "ethos-u55-128"


@pytest.fixture(scope="module")
def parts(small_models):
    """Return models on the NPU, with state, and with CPU operators that need scratch."""
    small = {name: small_models[name].read_bytes() for name in ("small_cnn", "small_streaming")}
    mixed = mixed_models.MODELS["svdf"].make()
    return {"see": small["small_cnn"], "hear": small["small_streaming"], "mix": mixed}


@pytest.fixture(scope="module")
def several(parts, tmp_path_factory):
    """Return the merged file, and the output of `ethosu compile`."""
    folder = tmp_path_factory.mktemp("signatures")
    source, made = folder / "several.tflite", folder / "compiled.tflite"
    source.write_bytes(merge(parts))
    assert cli.main(["compile", str(source), "--npu", NPU, "-o", str(made)]) == 0
    return ModelFile(source), ModelFile(made)


@pytest.fixture(scope="module")
def on_board(several, board_npu, tmp_path_factory):
    """Return both for the NPU of the board under test, with a self-test."""
    made = tmp_path_factory.mktemp("on_board") / "compiled.tflite"
    words = ["--npu", board_npu, "-o", made, "--selftest"]
    assert cli.main(["compile", *map(str, [several[0].source, *words])]) == 0
    return made


def rows_of(model: bytes):
    """Return inputs of three steps, and the outputs before the merge."""
    oracle = Oracle(model)
    random = np.random.default_rng(5)
    rows = [[reference_cases._values(random, end) for end in oracle.inputs] for _ in range(3)]
    return rows, [oracle.step(row) for row in rows]


@pytest.mark.parametrize("name", ["see", "hear", "mix"])
def test_each_signature_is_exact(parts, several, name):
    rows, expected = rows_of(parts[name])
    source, made = several
    litert = Interpreter(
        model_content=source.data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    ).get_signature_runner(name)
    with Simulation(signatures.select(made, name)) as simulation:
        for row, wanted in zip(rows, expected, strict=True):
            answer = litert(**{f"in{place}": array for place, array in enumerate(row)})
            assert [answer[f"out{i}"].tobytes() for i in range(len(wanted))] == [
                each.tobytes() for each in wanted
            ]
            assert [each.tobytes() for each in simulation.step(row)] == [
                each.tobytes() for each in wanted
            ]


@pytest.fixture
def loaded(board, on_board):
    load(board, on_board)
    return board


def test_signatures_on_a_board(parts, several, loaded):
    """Signatures share the file on a board, and the arena if neither keeps data in it."""
    assert loaded.eval("m.signatures") == ("see", "hear", "mix")
    rows, expected = rows_of(parts["hear"])
    more, wanted = rows_of(parts["see"])
    loaded.exec(f"hear = ethosu.Model({MODEL!r}, signature='hear')")
    see, hear = ([[array.tobytes() for array in row] for row in each] for each in (more, rows))
    for at, (row, other) in enumerate(zip(see, hear, strict=True)):
        for model, given, right in (("m", row, wanted[at]), ("hear", other, expected[at])):
            inputs = ", ".join(f"bytearray({each!r})" for each in given)
            found = loaded.eval(f"[bytes(each) for each in {model}.predict([{inputs}])]")
            assert found == [each.tobytes() for each in right], (at, model)
    loaded.exec("mix = m.method('mix')")
    assert loaded.eval("(mix.signatures, mix.input_shape)") == (
        ("see", "hear", "mix"),
        tuple(end.shape for end in signatures.select(several[1], "mix").description.inputs),
    )


def test_what_is_refused_on_a_board(loaded):
    assert raised(loaded, f"ethosu.Model({MODEL!r}, signature='x')") == (
        'ValueError the file has no signature "x"; its signatures are: see, hear, mix'
    )
    assert "expected one of method and signature" in raised(
        loaded, f"ethosu.Model({MODEL!r}, signature='see', method='see')"
    )


def test_a_selftest_is_of_the_first_subgraph(loaded):
    assert loaded.eval("m.selftest()")
    assert "self-test" in raised(loaded, "m.method('mix').selftest()")


def test_check_names_each(several, capsys):
    """check names each signature, so that no verdict about all values is about a part."""
    source, made = map(str, (several[0].source, several[1].source))
    board = ["--board", "MPS3_AN547"]
    for words in ([source], [made, "--reference", source]):
        assert cli.main(["check", *words, *board]) == 0
        said = capsys.readouterr().out
        verdict = " ".join(said[: said.index("Signature see")].split())
        assert verdict.startswith("3 signatures: see: Yes: ")
        for name in ("see", "hear", "mix"):
            assert f"{name}: Yes" in verdict
        assert verdict.count("every value equals TFLite's") == 3
        assert cli.main(["check", *words, *board, "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)["signatures"]) == {"see", "hear", "mix"}


def test_check_of_one_that_cannot_run(small_models, tmp_path, capsys):
    """If a signature cannot run, the exit code is that of the worst."""
    path = tmp_path / "half.tflite"
    fails = merge({"a": small_models["small_cnn"].read_bytes(), "b": without_kernel()})
    path.write_bytes(fails)
    assert cli.main(["check", str(path), "--board", "MPS3_AN547"]) == InputError.exit_code
    verdict = " ".join(capsys.readouterr().out.split())
    assert "a: Yes" in verdict and "b: No" in verdict
    assert cli.main(["compile", str(path), "-o", str(tmp_path / "out")]) == InputError.exit_code
    assert "TOPK_V2" in capsys.readouterr().err


def double() -> bytes:
    graph = writer.Graph("main")
    x, y = (graph.tensor(name, (1, 4), "int8", 0.1) for name in "xy")
    graph.operator("ADD", (x, x), (y,), "AddOptions")
    graph.inputs, graph.outputs = [x], [y]
    return writer.write([graph], "y = x + x")


def without_kernel() -> bytes:
    graph = writer.Graph("main")
    x = graph.tensor("x", (1, 8), "float32")
    k = graph.constant("k", np.array(2, np.int32))
    best, places = graph.tensor("best", (1, 2), "float32"), graph.tensor("at", (1, 2), "int32")
    graph.operator("TOPK_V2", (x, k), (best, places), "TopKV2Options")
    graph.inputs, graph.outputs = [x], [best, places]
    return writer.write([graph], "no kernel")


def test_run_and_inspect(several, capsys):
    source, made = map(str, (several[0].source, several[1].source))
    for name in ("see", "hear", "mix"):
        words = ["run", made, "--reference", source, "--signature", name, "--steps", "2"]
        assert cli.main(words) == 0
        assert f"signature {name}" in capsys.readouterr().out
        with open_runner(several[1], signature=name) as runner:
            assert runner.inputs == signatures.select(several[1], name).description.inputs
    assert cli.main(["run", made]) == 0
    assert "has the signatures see, hear, mix" in " ".join(capsys.readouterr().err.split())
    assert cli.main(["run", made, "--signature", "x"]) == UsageError.exit_code
    assert "no signature 'x'; expected one of see, hear, mix" in capsys.readouterr().err
    assert cli.main(["inspect", made]) == 0
    said = capsys.readouterr().out
    assert [line.split()[1] for line in said.splitlines() if line.startswith("signature")] == [
        "see",
        "hear",
        "mix",
    ]


def test_plan_plans_each(several, tmp_path, capsys):
    """`ethosu compile` plans each signature of a file that Vela alone wrote."""
    made = vela.compiled(several[0], NPU).file
    path, planned = tmp_path / "made.tflite", tmp_path / "planned.tflite"
    path.write_bytes(made.data)
    with pytest.raises(InputError, match="without an offset"):
        Simulation(signatures.select(made, "mix"))
    assert cli.main(["compile", str(path), "-o", str(planned)]) == 0
    words = ["run", planned, "--reference", several[0].source, "--signature", "mix"]
    assert cli.main([*map(str, words)]) == 0


def test_changing_places_twice_changes_nothing(several):
    made = several[1]
    for graph in made.signatures.values():
        once = ModelFile(signatures.to_front(made, graph))
        again = ModelFile(signatures.to_front(once, graph))
        assert again.graphs == made.graphs
        filled = ({n: bytes(e) for n, e in each.entries.items() if e} for each in (again, made))
        assert next(filled) == next(filled)


@pytest.mark.parametrize("width", [64, 32])
def test_damaged_files(damage, width):
    """Each signature of a damaged file is loaded or rejected without a bad access."""
    source = ModelFile(merge({"a": double(), "b": double()}), name="two")
    model = vela.compiled(source, NPU, debug=False).file.data
    assert damage("load", model, width).startswith("0 ")
    damage("cut", model, width)


def signed(graphs: list[int]) -> bytes:
    """Make a model of two subgraphs, with signatures that name these numbers."""
    tree = tree_of(merge({name: maker.make("HARD_SWISH", 0).model for name in ("add", "mul")}))
    for signature, graph in zip(tree.signatureDefs, graphs, strict=True):
        signature.subgraphIndex = graph
    return writer.packed(tree)


@pytest.mark.parametrize(
    "words", ["inspect FILE", "check FILE", "compile FILE --npu ethos-u55-128"]
)
@pytest.mark.parametrize("graphs", [[0, 7], [1, 1], [1, 2**31 - 1]])
def test_signatures_of_other_subgraphs_end_no_command_with_a_traceback(
    capsys, tmp_path, monkeypatch, words, graphs
):
    monkeypatch.chdir(tmp_path)
    Path("model.tflite").write_bytes(signed(graphs))
    code = cli.main(words.replace("FILE", "model.tflite").split())
    said = capsys.readouterr().err
    assert code in (0, 3), said
    if max(graphs) > 1:
        assert code == 3 and f"names subgraph {max(graphs)}, it has 2" in said
