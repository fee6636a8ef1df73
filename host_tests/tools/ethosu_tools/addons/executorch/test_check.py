# SPDX-License-Identifier: MIT
"""`ethosu check` and others of exported programs."""

from host_tests.tools.ethosu_tools.answers.test_check import SMALL


def test_a_program_is_no_reference(ethosu, compiled, small_models, shared_programs):
    program = shared_programs / "conv_u85_256/conv_u85_256.pte"
    made = compiled(small_models["small_cnn"])
    code, _, err = ethosu("check", made, *SMALL, "--reference", program)
    assert code == 3 and "is compiled, for ethos-u85-256: not a reference" in err


def test_a_program(check, shared_programs):
    """An ExecuTorch program; `conv_u85_256` is for the Ethos-U85 of one board."""
    code, data, err = check(shared_programs / "conv_u85_256/conv_u85_256.pte")
    assert "warning" not in err, "Vela's release is not in a program"
    assert code == 0 and data["npu"] == "ethos-u85-256"
    assert [row["board"] for row in data["boards"] if row["runs"]] == ["ALIF_ENSEMBLE_E8-M55_HP"]
    assert [each["verdict"] for each in data["runtimes"]] == ["refuses it", "accepts it"]
    code, data, _ = check(shared_programs / "conv_u55_128/conv_u55_128.pte", *SMALL)
    assert code == 0 and data["planned_bytes"] > 0 and data["scratch_bytes"] > 0
