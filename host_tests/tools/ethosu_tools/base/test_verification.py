# SPDX-License-Identifier: MIT
"""--no-verify runs what the verifier rejects, and untested Vela versions are reported."""

import json
import re

import numpy as np
import pytest
from ethosu_tools.answers.validate import work
from ethosu_tools.base import verification
from ethosu_tools.base.errors import InputError
from ethosu_tools.link.python_model import Model
from ethosu_tools.model import arrays
from ethosu_tools.model.tflite.metadata import put

from host_tests.conformance.generator import vela
from host_tests.conformance.generator.known_defects.defects import Register
from host_tests.conformance.generator.known_defects.test_defects import with_registers
from host_tests.conformance.generator.one_operator import test_velas
from host_tests.conformance.generator.operators.convolution import VALID

REFUSAL = "command at word "
WAY_OUT = "if you trust the file, use --no-verify (in Python verify=False)"


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """Make a pool that uses channel scales that are never set, and computes the average."""
    case = test_velas.make("AVERAGE_POOL_2D", VALID, "ethos-u55-128")
    model = vela.compile_case(case).model
    folder = tmp_path_factory.mktemp("refused")
    path = folder / "pool_vela.tflite"
    path.write_bytes(with_registers(model, [Register(0, "OFM_PRECISION", 0x101, 1)]))
    (folder / "pool.tflite").write_bytes(case.model)
    arrays.save(folder / "in.npz", {"0": case.feeds[0][0]})
    return path


@pytest.mark.parametrize("where", ["sim", "qemu"])
def test_run_skips_verification_only_on_request(ethosu, fails, refused, where):
    folder = refused.parent
    words = ["run", refused, "--input", folder / "in.npz", "--on", where]
    fails(*words, code=3, said=(REFUSAL, WAY_OUT))
    assert ethosu(*words, "--no-verify", "--reference", folder / "pool.tflite")[0] == 0
    assert verification.chosen(), "the next command verifies again"


@pytest.mark.parametrize("command", ["profile", "check"])
def test_each_command_has_the_option(ethosu, refused, command):
    assert WAY_OUT in "".join(ethosu(command, refused)[1:])
    assert ethosu(command, refused, "--no-verify")[0] == 0


def test_the_python_class_has_the_option_too(refused):
    with pytest.raises(InputError, match=REFUSAL):
        Model(refused)
    with Model(refused, verify=False) as model:
        model.predict([np.zeros(model.inputs[0].shape, np.int8)])


@pytest.mark.parametrize("where", ["sim", "qemu"])
def test_the_environment_is_the_default_for_the_python_class(refused, where, monkeypatch):
    monkeypatch.setenv(verification.VARIABLE, "0")
    Model(refused, on=where).close()
    with pytest.raises(InputError, match=REFUSAL):
        Model(refused, on=where, verify=True)


def test_the_option_is_passed_to_workers(ethosu, refused, tmp_path, monkeypatch):
    """The option reaches worker processes, as on a Dask cluster."""
    data, real = tmp_path / "data.npz", work.run_block
    arrays.save(data, {"0": arrays.load(refused.parent / "in.npz")["0"][None]})

    def elsewhere(*arguments):
        with monkeypatch.context() as patch:
            patch.delenv(verification.VARIABLE, raising=False)
            return real(*arguments)

    monkeypatch.setattr(work, "run_block", elsewhere)
    words = ["validate", refused, data, "--notes", tmp_path / "notes", "--workers", 1]
    assert WAY_OUT in ethosu(*words)[2]
    code, _, err = ethosu(*words, "--no-verify")
    assert code == 0, err


def test_each_message_of_the_verifier_names_the_remedy(repo):
    driver = repo / "modules/ethosu/driver"
    used = {
        name
        for file in driver.glob("verify/*.c")
        for name in re.findall(r"ETHOSU_EXT_E_((?:COMMAND|REGION|BRANCH)_\w+)", file.read_text())
    }
    table = (driver / "include/ethosu_errors.def").read_text()
    found = dict(re.findall(r"ETHOSU_EXT_ERROR\(\d+, (\w+), \w+,\s*([^\n]*)\)\n", table))
    assert len(used) >= 9 and used <= found.keys()
    for name in used:
        text = found[name].replace("AT_WORD", '"command at word 7"')
        text = re.sub(r"%\w", "7", text.replace("STREAM", '"command stream"').replace('"', ""))
        text = re.sub(r" +", " ", text)
        assert verification.with_hint(text) != text, text


@pytest.mark.parametrize(
    "text",
    [
        "NPU is ethos-u55-64",
        "command at word 7 is a sum in 48 bits: recompile with Vela 5.1 or later",
    ],
)
def test_other_messages_and_wrong_results_are_no_reason_to_trust_the_file(text):
    assert verification.with_hint(text) == text


@pytest.mark.parametrize(
    ("version", "reason", "warnings"),
    [
        ("4.1.1.dev18+g86ea209", "whose results were never compared", 1),
        ("4.5.0", "some of whose operators differ", 1),
        ("5.2.0", "", 0),
    ],
)
def test_a_file_of_an_untested_vela_is_reported_once(
    ethosu, refused, tmp_path, version, reason, warnings
):
    path = tmp_path / "model.tflite"
    path.write_bytes(put(refused.read_bytes(), {"vela_version": version.encode()}))
    message = f"ethosu: warning: {path} was compiled by Vela {version}, {reason}"
    code, out, err = ethosu("inspect", path, "--json")
    assert code == 0 and json.loads(out)["vela"] == version and err.count(message) == warnings
    for command in ("run", "inspect", "check"):
        assert ethosu(command, path)[2].count(message) == warnings
    code, _, err = ethosu("deploy", path, "-o", tmp_path / "rom.img", "--no-verify")
    assert code == 0 and err.count(message.replace(str(path), path.name)) == warnings


def test_a_file_without_a_vela_version_is_reported_for_u85_alone(
    ethosu, refused, compiled, small_models, tmp_path
):
    """A missing Vela version is reported for U85 only, as Vela 4.0.1 to 4.5.0 write none there."""
    assert "warning" not in ethosu("inspect", refused)[2]
    path, key = tmp_path / "u85.tflite", b"vela_version"
    data = compiled(small_models["small_cnn"], "ethos-u85-256").read_bytes()
    assert data.count(key) == 1
    path.write_bytes(data.replace(key, key.upper()))
    for command in ("inspect", "check"):
        err = ethosu(command, path)[2]
        assert err.count("was compiled by a Vela before 5.0, which names no release") == 1
