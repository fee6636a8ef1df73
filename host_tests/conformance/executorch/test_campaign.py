# SPDX-License-Identifier: MIT
"""Short form of the campaigns on ExecuTorch programs."""

import pytest

from host_tests.conformance.campaigns import loading

from . import campaign_rows

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("builds_for_32_bits")]
RUNS = 1_000


@pytest.mark.parametrize("bits", (64, 32))
@pytest.mark.parametrize("target", ["programs", "delegates"])
def test_damaged_programs_are_loaded_and_run(tmp_path, monkeypatch, target, bits):
    monkeypatch.setattr(loading, "BUILD", tmp_path)
    campaign = campaign_rows.campaign(target, bits, 16_384)
    sound = [path for path in (campaign.corpus / target).iterdir() if "damaged" not in str(path)]
    counts = campaign.fuzz(sound)
    assert counts["loaded"] >= len(sound)
    assert counts["run"] > 0 or (target, bits) == ("delegates", 32)
    counts = campaign.run(1, 0, RUNS)
    assert counts["inputs"] >= RUNS
    assert counts["loaded"] > 100
