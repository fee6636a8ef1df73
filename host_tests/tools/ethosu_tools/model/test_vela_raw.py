# SPDX-License-Identifier: MIT
"""`ethosu run` runs Vela's raw output as it runs Vela's .tflite, and refuses what it cannot."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.model import arrays, vela_raw

U65 = "--system-config", "Ethos_U65_High_End", "--memory-mode", "Dedicated_Sram"
RAW = "--output-format", "raw"


@pytest.mark.parametrize(
    "options",
    [("ethos-u55-128",), ("ethos-u65-256", *U65), ("ethos-u85-256", "--cop-format", "COP2")],
)
def test_the_command_stream_gives_the_results_of_the_model(
    ethosu, vela, small_models, inputs, tmp_path, options
):
    source, found = small_models["small_cnn"], []
    for number, form in enumerate(((), RAW)):
        made, out = (
            vela(source, "--accelerator-config", *options, *form),
            tmp_path / f"{number}.npz",
        )
        code, text, err = ethosu("run", made, "--output", out, "--input", inputs(source), "--json")
        assert code == 0 and not (form and "warning" in err), err
        found.append(np.load(out)["0"].flatten())
        assert f'"npu": "{options[0]}"' in text
    np.testing.assert_array_equal(*found)


def test_other_regions_and_damaged_files_are_refused(vela, small_models, tmp_path):
    options = ("ethos-u85-256", "--cop-format", "COP2", "--separate-io-regions")
    path = vela(small_models["small_cnn"], "--accelerator-config", *options, *RAW)
    with pytest.raises(InputError, match=r"in the region 1: let Vela write a \.tflite"):
        vela_raw.find(path)
    content = vela_raw._contents(path)
    del content["input_offset"]
    arrays.save(tmp_path / "less.npz", content)
    with pytest.raises(InputError, match=r"less\.npz is not the raw output of Vela: 'input_offset"):
        vela_raw.find(tmp_path / "less.npz")
    arrays.save(tmp_path / "other.npz", {"0": np.zeros(3)})
    assert vela_raw.find(tmp_path / "other.npz") is None
