# SPDX-License-Identifier: MIT
"""`ethosu bench samples` runs everywhere with the same results; speed is not tested."""

import json


def test_all_runners_give_the_same_result(ethosu, small_models, compiled):
    model = compiled(small_models["small_cnn"])
    code, out, err = ethosu("bench", "samples", model, "--samples", "40", "--json")
    assert (code, err) == (0, "")
    rates = json.loads(out)["samples_per_second"]
    assert list(rates) == ["sim", "qemu", "pty", "socket"] and min(rates.values()) > 0
