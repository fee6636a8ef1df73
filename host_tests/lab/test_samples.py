# SPDX-License-Identifier: MIT
"""The same samples have the same results everywhere; speed is not tested."""

from host_tests.lab import samples


def test_all_runners_give_the_same_result(lab, small_models, compiled):
    model = compiled(small_models["small_cnn"])
    code, data, err = lab(samples, model, "--samples", "40", "--json")
    assert (code, err) == (0, "")
    rates = data["samples_per_second"]
    assert list(rates) == ["sim", "qemu", "pty", "socket"] and min(rates.values()) > 0
