# SPDX-License-Identifier: MIT
"""Tests the `ethosu` command: help, results, errors in one sentence, exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import flatbuffers
import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.answers import outputs
from ethosu_tools.base import addons, files, helper_process
from ethosu_tools.base.errors import InputError, RemoteError
from ethosu_tools.base.ui import Ui, fitted
from ethosu_tools.cli import MOVED, discover, make_parser
from ethosu_tools.compile import vela
from ethosu_tools.link import port
from ethosu_tools.link.open import places
from ethosu_tools.model import ModelFile, arrays, file, tflite
from ethosu_tools.sim import litert, oracle
from ethosu_tools.sim.oracle import Oracle
from rich.console import Console

from host_tests.kit import pages
from host_tests.kit.stand_ins import program

COMMANDS = discover()
PROGRAM = Path(sys.executable).with_name("ethosu")


def one_sentence(err):
    """Return the error text, which must be a single line."""
    lines = err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("ethosu: "), err
    return lines[0]


@pytest.fixture
def fails(fails):
    """Run a command that must fail with one sentence."""
    return lambda *words, **expected: one_sentence(fails(*words, **expected))


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(ethosu, command):
    code, out, _ = ethosu(command, "--help")
    assert code == 0
    assert f"usage: ethosu {command}" in out and "--json" in out


def test_help_lists_commands_and_exit_codes(ethosu):
    code, out, _ = ethosu("--help")
    assert code == 0
    assert all(command in out for command in COMMANDS) and "Exit codes: 0 success" in out


def test_each_module_is_a_command(repo):
    modules = {path.stem for path in (repo / "tools/ethosu_tools/commands").glob("*.py")}
    others = addons.offers("command")
    assert modules - {"__init__"} | set(others) == set(COMMANDS)


def test_the_commands_are_found_without_loading_any():
    """Commands are found without loading any module, which would slow each start."""
    code = (
        "import sys\nfrom ethosu_tools import cli\nassert 'run' in cli.discover()\n"
        "print([name for name in sys.modules if name.count('.') > 2 or name == 'numpy'"
        " if name.startswith(('ethosu_tools.', 'numpy'))])"
    )
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("page", ["README.md", "tools/ethosu_tools/README.md"])
def test_readme_names_only_existing_commands(repo, page):
    named = set(re.findall(r"\bethosu ([a-z]+)\b", (repo / page).read_text()))
    assert named & set(COMMANDS) and named <= {*COMMANDS, "driver", "module"}, named


def test_each_command_is_on_the_page_and_in_a_test(repo):
    """A test begins a call, tuple or list with each command: `ethosu("run", path)`."""
    page = (repo / "tools/ethosu_tools/README.md").read_text()
    every = "".join((repo / name).read_text() for name in pages.names())
    added = addons.offers("command")  # those of add-ons are on their pages
    for name in COMMANDS:
        assert re.search(rf"\bethosu {name}\b", every if name in added else page), name
    tests = "".join(path.read_text() for path in (repo / "host_tests").rglob("*.py"))
    assert set(COMMANDS) <= set(re.findall(r'[(\[=]\s*"(\w+)"[,)\]]', tests))


def test_version_is_the_same_everywhere(repo):
    """Package, command and `ethosu.__version__` on a board have the same version."""
    package = tomllib.loads((repo / "pyproject.toml").read_text())["project"]["version"]
    header = (repo / "modules/ethosu/ethosu_version.h").read_text()
    assert f'#define ETHOSU_VERSION "{package}"' in header
    done = subprocess.run(
        [sys.executable, "-m", "ethosu_tools.cli", "--version"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"ethosu {package}\n")


def test_wrong_command_lines_are_reported_as_json(ethosu):
    code, out, err = ethosu("check", "m.tflite", "--bogus", "--json")
    assert code == 2 and json.loads(out)["kind"] == "UsageError"
    assert one_sentence(err) == (
        "ethosu: unknown arguments: --bogus; `ethosu check --help` lists the options"
    )


@pytest.mark.parametrize("words", [[], ["fly"], ["compile"], ["run"], ["compile", "-x"]])
def test_wrong_command_lines_are_code_2(fails, words):
    fails(*words, code=2, said=("`ethosu", "--help` lists the options"))


@pytest.mark.parametrize(
    "words", ["validate --workers", "validate --top", "bisect --steps", "profile --count"]
)
def test_numbers_below_1_are_refused(fails, words):
    command, option = words.split()
    said = f"{option}: expected a whole number of at least 1, found '0'"
    fails(command, option, "0", code=2, said=said)


def test_compile_then_inspect(ethosu, small_models, tmp_path):
    output, report = tmp_path / "made" / "cnn.tflite", tmp_path / "report.txt"
    words = "compile", small_models["small_cnn"], "--npu", "ethos-u55-64", "-o", output
    code, out, err = ethosu(*words)
    assert (code, err) == (0, "")
    assert "ethos-u55-64" in out and "report" not in out
    assert list(output.parent.iterdir()) == [output]  # the folder may be deployed
    code, out, _ = ethosu(*words, "--vela-report", report)
    assert code == 0 and str(report) in out
    assert all(word in report.read_text() for word in ("Accelerator configuration", "Conv2D"))
    code, out, _ = ethosu("inspect", output)
    assert code == 0 and "npu        ethos-u55-64" in out


_OUTPUTS = {
    "check": "--html",
    "compile": "--output --c-array --vela-report --debug-db --try",
    "deploy": "--output",
    "inspect": "--memory",
    "run": "--output",
    "profile": "--maps --perfetto --overlay",
    "validate": "--failures",
}


@pytest.mark.parametrize(
    ("command", "option"), [(name, each) for name in _OUTPUTS for each in _OUTPUTS[name].split()]
)
def test_an_input_is_not_overwritten(fails, tmp_path, command, option):
    path, link = tmp_path / "model.tflite", tmp_path / "link"
    path.write_bytes(b"a model")
    link.symlink_to(path)
    data = ["data"] if command == "validate" else []
    for name in (path, link):
        fails(command, path, *data, option, name, code=2, said=f"{option} would overwrite {name}")
    assert path.read_bytes() == b"a model"


def test_labels_are_not_overwritten(ethosu, tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text("cat")
    code, _, err = ethosu("compile", tmp_path / "m.tflite", "--labels", labels, "-o", labels)
    assert code == 2 and f"--output would overwrite {labels}" in one_sentence(err)
    assert labels.read_text() == "cat"


def test_every_option_that_saves_a_file_is_checked():
    """Options of files are checked for conflicts, unless they are on a list of exceptions."""
    others = {"bisect --output", "demo --output", "plan --output", "strip --output"}
    found = set()
    for command in discover():
        for option in make_parser(command)._subparsers._group_actions[0].choices[command]._actions:
            if option.type is files.Output:
                found.add(f"{command} {option.option_strings[-1]}")
            elif "--output" in option.option_strings:
                assert f"{command} --output" in others
    listed = {f"{name} {each}" for name in _OUTPUTS for each in _OUTPUTS[name].split()}
    assert found == listed


@pytest.mark.parametrize(
    ("name", "rows", "steps"), [("small_cnn", None, 1), ("small_streaming", 6, 5)]
)
def test_run_on_sim_equals_the_reference(
    ethosu, small_models, compiled, inputs, tmp_path, name, rows, steps
):
    """`run --on sim` equals the reference, for a stateless and a streaming model."""
    model = small_models[name]
    code, out, err = ethosu(
        "run",
        compiled(model),
        *("--input", inputs(model, steps=rows), "--output", tmp_path / "out.npz"),
        *("--steps", steps, "--reference", model, "--json"),
    )
    assert (code, err) == (0, "")
    data = json.loads(out)
    assert data["equals_reference"] is True and data["steps"] == steps
    with np.load(tmp_path / "out.npz") as saved:
        assert list(saved["0"].shape) == data["outputs"]["0"]["shape"]
        assert rows is None or len(saved["0"]) == steps


def test_run_without_inputs_takes_random_ones_that_repeat(ethosu, small_models, compiled, tmp_path):
    model, found = small_models["small_cnn"], []
    for seed in (0, 1, 0):
        path = tmp_path / "out.npz"
        words = ["--steps", 3, "--seed", seed, "--output", path, "--reference", model]
        code, out, err = ethosu("run", compiled(model), *words)
        assert (code, err) == (0, "") and f"random inputs, seed {seed};" in out
        found.append(arrays.load(path)["0"].tolist())
    assert found[0] == found[2] != found[1] and found[0][0] != found[0][1]


def test_run_takes_the_samples_that_validate_takes(ethosu, small_models, compiled, tmp_path):
    random = np.random.default_rng(3)
    samples = random.integers(-128, 128, (4, 16, 16, 3)).astype("int8")
    np.savez(tmp_path / "test.npz", **{"0": samples, "labels": np.zeros(4, int)})
    np.save(tmp_path / "test.npy", samples)
    found = []
    for name in ("test.npz", "test.npy"):
        program = compiled(small_models["small_cnn"])
        code, out, err = ethosu("run", program, "--input", tmp_path / name, "--json")
        assert (code, err) == (0, "")
        found.append(json.loads(out)["outputs"])
    assert found[0] == found[1] and found[0]["0"]["shape"] == [4, 1, 10]


def test_difference_from_the_reference_is_code_6(ethosu, small_models, compiled, inputs, tmp_path):
    from ethosu_tools.model.make_model import small_cnn

    model, other = small_models["small_cnn"], tmp_path / "other.tflite"
    other.write_bytes(small_cnn(seed=99))
    code, _, err = ethosu("run", compiled(model), "--input", inputs(model), "--reference", other)
    assert code == 6
    assert re.search(r"differs from the reference in \d+ of 10 values, by up to \d+", err)
    one_sentence(err)


def test_a_reference_with_other_inputs_is_reported(ethosu, small_models, compiled):
    other = small_models["small_streaming"]
    code, _, err = ethosu("run", compiled(small_models["small_cnn"]), "--reference", other)
    assert code == 3 and f"{other} is not the original of" in one_sentence(err)
    assert (
        "it has inputs int8 [1, 3, 8], expected int8 [1, 16, 16, 3]" in err and "LiteRT" not in err
    )


def test_the_reference_shows_its_progress(small_models, compiled):
    program = compiled(small_models["small_cnn"])
    model = small_models["small_cnn"]
    updates = []
    inputs = np.zeros((3, 1, 16, 16, 3), np.int8)
    feed = arrays.check({"0": inputs}, tflite.describe(model).inputs)
    rows = [[array] for array in oracle.run(model, {"0": inputs})["0"]]
    files = ModelFile(program), ModelFile(model)
    outputs.compare(files[0], rows, feed, files[1], lambda *at: updates.append(at))
    assert updates == [(step, 3) for step in range(3)]


@pytest.fixture
def aborting(small_models, tmp_path):
    """Make a model that makes LiteRT abort: an ADD whose inputs have no scale."""
    model = schema.ModelT.InitFromObj(
        schema.Model.GetRootAsModel(small_models["small_cnn"].read_bytes(), 0)
    )
    graph = model.subgraphs[0]
    graph.tensors[graph.operators[2].outputs[0]].quantization.scale = []
    builder = flatbuffers.Builder(0)
    builder.Finish(model.Pack(builder), b"TFL3")
    path = tmp_path / "aborting.tflite"
    path.write_bytes(builder.Output())
    return path


def test_reference_that_aborts_is_one_error(
    ethosu, fails, small_models, compiled, inputs, aborting
):
    model = small_models["small_cnn"]
    words = ["run", compiled(model), "--input", inputs(model), "--reference"]
    fails(*words, aborting, code=3, said="its process ended with SIGABRT")
    assert ethosu(*words, model)[0] == 0


def test_self_test_that_aborts_is_one_error_and_leaves_no_model(
    ethosu, small_models, aborting, tmp_path
):
    output = tmp_path / "new" / "out.tflite"
    code, _, err = ethosu("compile", aborting, "--selftest", "-o", output)
    assert code == 3 and "its process ended with SIGABRT" in one_sentence(err)
    assert not output.parent.exists()
    assert ethosu("compile", small_models["small_cnn"], "--selftest", "-o", output)[0] == 0


def test_a_reference_that_ended_is_reported(small_models, aborting):
    before = Oracle(small_models["small_cnn"])
    with pytest.raises(InputError, match="SIGABRT"):
        Oracle(aborting)
    with pytest.raises(InputError, match="ended while it served another request"):
        before.step([np.zeros(before.inputs[0].shape, np.int8)])


def test_file_errors_are_code_3(ethosu, small_models, compiled, inputs, tmp_path):
    model = small_models["small_cnn"]
    good, npz, bad = compiled(model), inputs(model), tmp_path / "bad"
    bad.write_bytes(b"not what it should be")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for words in (
        ["compile", bad],
        ["compile", tmp_path / "missing.tflite"],
        ["compile", good],
        ["compile", model, "-o", bad / "below_a_file.tflite"],
        ["inspect", bad],
        ["run", bad, "--input", npz],
        ["run", model, "--input", npz],
        ["run", good, "--input", bad],
        ["run", good, "--input", tmp_path / "missing.npz"],
        ["run", good, "--input", npz, "--output", bad / "below_a_file.npz"],
        ["run", good, "--input", npz, "--reference", bad],
        ["compile", model, "-o", tmp_path],
        ["compile", model, "-o", tmp_path / "circle"],
        ["run", good, "--input", npz, "--output", tmp_path],
        ["deploy", good, "-o", bad / "below_a_file.img"],
        ["deploy", tmp_path / "missing", "-o", tmp_path / "rom.img"],
        ["qemu", "--romfs", bad],
    ):
        code, out, err = ethosu(*words)
        assert (code, out) == (3, ""), words
        one_sentence(err)


def test_errors_as_json_name_their_kind(ethosu, tmp_path):
    code, out, err = ethosu("inspect", tmp_path / "missing.tflite", "--json")
    data = json.loads(out)
    assert code == 3 and data["kind"] == "InputError"
    assert one_sentence(err) == f"ethosu: {data['error']}"


def test_ctrl_c_is_one_error_and_one_document(ethosu, small_models, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(file, "describe_tflite", interrupted)
    code, out, err = ethosu("inspect", small_models["small_cnn"], "--json")
    assert code == 130 and json.loads(out)["kind"] == "KeyboardInterrupt"
    assert one_sentence(err) == "ethosu: stopped"


def test_output_of_a_board_cannot_control_the_terminal(capsys):
    evil = "\x1b[2J\x1b]0;x\x07\x9b2J\u202ename"
    error = RemoteError(f"Traceback\nValueError: {evil}")
    ui = Ui()
    ui.console = Console(stderr=True, force_terminal=True)
    ui.result({}, evil)
    ui.note(evil)
    with ui.progress(evil):
        pass
    out, err = capsys.readouterr()
    for text in (str(error), out):
        assert r"\x1b[2J\x1b]0;x\x07" in text
        assert all(each.isprintable() for each in text.strip()), text
    assert "\x1b[2J" not in err and "\x1b]0;" not in err


@pytest.mark.parametrize(
    ("options", "shown"), [({}, 1), ({"quiet": True}, 0), ({"as_json": True}, 0)]
)
def test_only_long_steps_are_announced_without_a_terminal(capsys, options, shown):
    ui = Ui(**options)
    ui.note("short")
    ui.note_long("long")
    assert capsys.readouterr().err == "ethosu: long\n" * shown


@pytest.mark.parametrize(("terminal", "quiet"), [(True, False), (True, True), (False, False)])
def test_output_of_a_program_is_shown_on_a_terminal_only(capsys, terminal, quiet):
    """A program's output is shown on a terminal only, with line ends that overwrite progress."""
    ui = Ui(quiet=quiet)
    ui.console = Console(stderr=True, force_terminal=terminal)
    ui.show_output("Download 50%\r\x1b[2J")
    shown = "Download 50%\r\\x1b[2J"
    assert capsys.readouterr() == ("", shown if terminal and not quiet else "")


def test_names_with_brackets_are_no_markup(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal shows no progress
    ui = Ui()
    ui.console = Console(stderr=True, force_terminal=True)
    ui.note("compiling [/x]/m[red].tflite")
    with ui.progress("running on [/x]"):
        pass
    err = capsys.readouterr().err
    assert "[/x]/m[red].tflite" in err and "running on [/x]" in err


def test_model_for_another_npu_is_refused_with_the_remedy(fails, small_models, compiled, inputs):
    model = small_models["small_cnn"]
    words = "run", compiled(model, "ethos-u55-64"), "--input", inputs(model)
    said = "ethos-u55-64", "ethos-u55-256", "ethosu compile"
    fails(*words, "--npu", "ethos-u55-256", code=3, said=said)


def test_unknown_npu_is_refused(ethosu, fails, small_models, compiled, inputs):
    model = small_models["small_cnn"]
    code, _, err = ethosu("run", compiled(model), "--input", inputs(model), "--npu", "ethos-u99-1")
    assert code == 2 and "unknown NPU 'ethos-u99-1'; did you mean ethos-u" in err
    code, _, err = ethosu("compile", model, "--npu", "ethos-u55-127")
    assert code == 2 and "did you mean ethos-u55-128 or ethos-u55-32 or ethos-u55-256?" in err
    code, _, err = ethosu("compile", model, "--npu", "u65")
    assert code == 2 and "did you mean ethos-u65-256 or ethos-u65-512?" in err
    fails("compile", model, "--npu", "xyz", code=2, said="expected one of ethos-u55-32, ")


@pytest.mark.parametrize("command", ["compile", "check", "profile", "bisect"])
def test_an_unknown_board_is_a_wrong_command_line_with_a_guess(ethosu, small_models, command):
    code, _, err = ethosu(command, small_models["small_cnn"], "--board", "GROVE")
    assert code == 2 and one_sentence(err).endswith(
        f"; `ethosu {command} --help` lists the options"
    )
    assert "'GROVE'; did you mean GROVE_VISION_AI_V2? expected one of" in err
    assert "did you mean" not in ethosu(command, "m.tflite", "--board", "@")[2]


def test_the_name_of_an_earlier_version_says_what_is_new(ethosu, monkeypatch):
    monkeypatch.setitem(MOVED, "former", "check MODEL")
    for name in MOVED.keys() - COMMANDS.keys():
        code, out, err = ethosu(name, "model.tflite", "--option")
        assert (code, out) == (2, "") and err == f"ethosu: {name} is now: ethosu {MOVED[name]}\n"
        assert MOVED[name].split()[0] in COMMANDS


def test_other_names_are_guessed(fails):
    fails("inpect", "m.tflite", code=2, said="unknown command 'inpect'; did you mean inspect or ")
    for command in ("profile", "bisect"):
        fails(command, "m.tflite", "--other-board", "RA8P2", code=2, said="did you mean RA8P1?")
    fails("doctor", "--install", "foo", code=2, said="argument --install: invalid choice: 'foo'")


def test_unknown_memory_mode_is_refused_with_the_list(fails, small_models):
    said = "unknown memory mode 'sram'; expected one of Sram_Only (all in SRAM)"
    fails("compile", small_models["small_cnn"], "--memory-mode", "sram", code=2, said=said)


def test_missing_build_products_are_code_4_with_the_remedy(
    fails, small_models, compiled, inputs, tmp_path, monkeypatch
):
    monkeypatch.setenv("ETHOSU_ROOT", str(tmp_path))
    model = small_models["small_cnn"]
    words = ["run", compiled(model), "--input", inputs(model)]
    fails(*words, "--on", "sim", code=4, said="build it with `make build`, or only `make sim-host`")
    fails(*words, "--on", "qemu", code=4, said="with `make firmware BOARD=MPS3_AN547`")


def test_missing_qemu_is_code_4_with_the_remedy(fails, monkeypatch):
    monkeypatch.setenv("ETHOSU_QEMU", "no-such-qemu")
    fails("qemu", code=4, said="install Debian's qemu-system-arm")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("q: Could not load\nethosu: this QEMU is not supported: install", "this QEMU is not supp"),
        ("usage\nqemu: -plugin: invalid option", "not run the NPU plugin: qemu: -plugin: invalid"),
    ],
)
def test_a_qemu_that_does_not_run_the_plugin_is_code_4(fails, monkeypatch, tmp_path, text, reason):
    """A QEMU that cannot run the plugin gives exit code 4, before a machine starts."""
    other = program(tmp_path / "other-qemu", f"echo '{text}' >&2\nexit 1\n", "/bin/sh")
    monkeypatch.setenv("ETHOSU_QEMU", str(other))
    fails("qemu", code=4, said=(reason, str(other)))


def test_missing_port_is_code_5_and_names_others(
    ethosu, small_models, compiled, inputs, monkeypatch
):
    found = [SimpleNamespace(device=name) for name in ("/dev/a", "/dev/b")]
    monkeypatch.setattr(port, "usb_ports", lambda: found)
    model = small_models["small_cnn"]
    code, _, err = ethosu(
        "run", compiled(model), "--input", inputs(model), "--on", "/dev/no_such_port"
    )
    assert code == 5 and "/dev/no_such_port cannot be opened" in one_sentence(err)
    assert "; USB serial ports here: /dev/a, /dev/b (see `ethosu doctor`)" in err
    code, _, err = ethosu("run", compiled(model), "--input", inputs(model), "--on", "board")
    assert code == 2 and f"'board': expected {', '.join(places())} or a port" in one_sentence(err)


def test_deploy_needs_a_port(ethosu, fails, small_models):
    fails("deploy", small_models["small_cnn"], code=2, said="--on PORT")
    code, _, err = ethosu("deploy", small_models["small_cnn"], "--on", "qemu")
    assert code == 2 and "`ethosu qemu` starts an emulated board" in one_sentence(err)


def test_deploy_refuses_two_files_of_one_name(ethosu, small_models, tmp_path):
    model = small_models["small_cnn"]
    other = tmp_path / model.name
    other.write_bytes(b"another")
    code, _, err = ethosu("deploy", model, other, "-o", tmp_path / "rom.img")
    assert code == 2 and f"named {model.name}: {other}" in one_sentence(err)


def test_deploy_keeps_the_image(ethosu, small_models, compiled, tmp_path):
    image, model = tmp_path / "rom.img", compiled(small_models["small_cnn"])
    code, out, _ = ethosu("deploy", model, "-o", image, "--json")
    assert code == 0
    assert json.loads(out)["bytes"] == image.stat().st_size
    assert model.read_bytes() in image.read_bytes()
    out = ethosu("deploy", model, "-o", image)[1]
    assert f"{model.name}: {model.stat().st_size:,} bytes\n" in out
    assert f"image      {image.stat().st_size:,} bytes in {image}" in out


def test_modules_in_the_working_folder_are_not_run(small_models, tmp_path, monkeypatch):
    for name in ("numpy", "argparse", "mpremote"):
        (tmp_path / f"{name}.py").write_text(f"open('ran', 'a').write('{name} ')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(helper_process, "_shared", {})  # new helpers start in this folder
    vela.compile_model(small_models["small_cnn"], "ethos-u55-128", tmp_path / "out.tflite")
    assert vela.run_vela(small_models["small_cnn"], ["--output-dir", str(tmp_path)])
    details = litert._Child().call("load", small_models["small_cnn"].read_bytes(), "BUILTIN_REF")
    assert details
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(("words", "unbuffered"), [(["inspect"], ""), (["inspect", "--json"], "1")])
def test_unwritable_stdout_is_one_error(small_models, words, unbuffered):
    command = [PROGRAM, *words, small_models["small_cnn"]]
    pipe, environment = subprocess.PIPE, {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=pipe, text=True, env=environment)
    assert (done.returncode, done.stderr) == (3, "ethosu: No space left on device\n")
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment) as head:
        head.stdout.close()
        assert (head.stderr.read(), head.wait()) == (b"", 141)


def test_unwritable_stderr_keeps_the_exit_code():
    for stderr in (">/dev/full", ">&-"):
        done = subprocess.run(
            ["bash", "-c", f"{PROGRAM} inspect no_such_file 2{stderr}"], capture_output=True
        )
        assert (done.returncode, done.stdout) == (3, b"")


def test_terminal_of_another_encoding_shows_what_it_can(small_models, tmp_path):
    model = tmp_path / os.fsdecode("mö".encode() + b"\xff.tflite")
    model.write_bytes(small_models["small_cnn"].read_bytes())
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for words, shown in (
        (["inspect"], rb"m\xf6\udcff.tflite"),
        (["inspect", "--json"], rb"m\u00f6\udcff.tflite"),
        (["inspect", "--memory"], b"arena"),
    ):
        done = subprocess.run(
            [PROGRAM, words[0], model, *words[1:]], capture_output=True, env=environment
        )
        assert (done.returncode, done.stderr) == (0, b"") and shown in done.stdout


def test_error_of_a_megabyte_is_cut(ethosu, monkeypatch):
    def execute(*_):
        raise RemoteError(f"ValueError: {'x' * 1_000_000}")

    monkeypatch.setattr("ethosu_tools.commands.inspect.execute", execute)
    code, _, err = ethosu("inspect", "any")
    assert code == 5 and len(one_sentence(err)) < 5000


def test_newline_and_escape_of_a_name_do_not_reach_the_terminal(ethosu, tmp_path):
    code, out, err = ethosu("inspect", tmp_path / "\x1b[2J\nethosu: all is well")
    assert (code, out) == (3, "")
    assert r"\x1b[2J\nethosu: all is well cannot be read" in one_sentence(err)


def test_ctrl_c_again_and_again_is_one_error():
    """Repeated Ctrl-C, also while the program ends, gives one error."""
    pipe = subprocess.PIPE
    command = [PROGRAM, "qemu", "--examples"]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as program:
        lines = [program.stdout.readline() for _ in range(4)]
        while program.poll() is None:
            program.send_signal(signal.SIGINT)
        text = program.stderr.read()
    assert lines[3].startswith("    mpremote connect /dev/") and 'exec "import image"' in lines[3]
    assert program.returncode in (0, 130) and len(text.splitlines()) <= 1, text


def test_quiet_prints_errors_and_json_only(ethosu, small_models, tmp_path):
    words = "compile", small_models["small_cnn"], "-o", tmp_path / "cnn.tflite", "--quiet"
    assert ethosu(*words) == (0, "", "") and (tmp_path / "cnn.tflite").exists()
    code, out, err = ethosu(*words, "--json")
    data = json.loads(out)
    assert (code, err, data["npu"]) == (0, "", "ethos-u55-128")
    assert data["vela_estimate"]["cycles"] > 0 and data["inputs"][0]["dtype"] == "int8"
    code, out, err = ethosu("inspect", tmp_path / "none.tflite", "--quiet")
    assert (code, out) == (3, "") and "none.tflite" in one_sentence(err)


@pytest.mark.parametrize("command", [["doctor"], ["boards"], ["check", "--chips"]], ids=str)
def test_no_word_is_broken_on_a_terminal(ethosu, small_models, monkeypatch, command):
    """Rows are wrapped between words below their second column, on terminals only."""
    if command[0] == "check":
        command = [*command, small_models["small_cnn"]]
    _, whole, _ = ethosu(*command)
    assert any(len(line) > 80 for line in whole.splitlines())
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    _, broken, _ = ethosu(*command)
    assert broken.split() == whole.split()
    for line in broken.splitlines():
        assert len(line) <= 80 or " " not in re.sub(r"^\S+(?: \S+)* {2,}|^ +", "", line), line


def test_lines_to_type_stay_whole():
    text = "a b\n    ethosu qemu --board X\nname  one two three\n  note that is long"
    assert fitted(text, 14).split("\n") == [
        *("a b", "    ethosu qemu --board X", "name  one two", "      three"),
        *("  note that is", "    long"),
    ]


def test_each_command_has_its_keys():
    """Those of `--json` are a promise, also of a command whose tests print text only."""
    text = (Path(addons.__file__).parents[1] / "commands/keys.toml").read_text()
    assert set(discover()) <= set(tomllib.loads(text)["commands"])


@pytest.mark.parametrize("command", ["boards", "decode", "deploy", "doctor", "flash", "qemu"])
def test_commands_that_compute_nothing_start_without_litert(command):
    """The wheel does not need it, and `ethosu doctor` has to say that it is missing."""
    code = "import sys; sys.modules['ai_edge_litert'] = None; from ethosu_tools import cli\n"
    code += f"print(cli.command_module({command!r}).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and command in done.stdout, done.stderr
