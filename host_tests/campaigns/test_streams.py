# SPDX-License-Identifier: MIT
"""Short form of the campaign on command streams, and a test that it can find defects."""

import json
import subprocess

import pytest

from . import streams
from .common import FoundError
from .streams import Streams

pytestmark = pytest.mark.usefixtures("builds_for_32_bits")
SEED = 1


@pytest.fixture(scope="module")
def campaign(small_corpus):
    return Streams(small_corpus)


def test_corpus_has_all_npus_and_memory_modes(small_corpus):
    about = json.loads((small_corpus / "about.json").read_text())
    families = [npu.split("-")[1] for npu in about["npus"]]
    assert [families.count(family) for family in ("u55", "u65", "u85")] == [4, 2, 5]
    modes = {"Sram_Only", "Shared_Sram", "Dedicated_Sram", "Dedicated_Sram_256KB"}
    assert about["memory modes"].keys() == modes


def test_accepted_streams_stay_inside_and_both_builds_agree(campaign):
    counts = campaign.run(SEED, 0, 20_000)
    assert (counts["outside"], counts["unreported"], counts["different"]) == (0, 0, 0)
    assert counts["accepted"] > 8_000
    assert counts["completed"] > 0.7 * counts["accepted"]


def test_without_the_verifier_streams_leave_their_regions(campaign):
    counts = campaign.run_unverified(SEED, 0, 2_000)
    assert counts["outside"] > 100
    # The verifier reports only what it has walked; a rejected stream writes more.
    assert counts["unreported"] > 100


def test_a_verdict_that_differs_is_found(campaign):
    other_seed = [streams._verdicts(), campaign.corpus / "streams", "2", "0", "100"]
    verdicts = subprocess.run(other_seed, capture_output=True, check=True).stdout

    with subprocess.Popen(
        [streams._runner(), "run", campaign.corpus / "streams", str(SEED), "0", "100"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as program:  # fmt: skip
        output, _ = program.communicate(verdicts)
    assert program.returncode == 1
    assert json.loads(output)["different"] > 50


def test_findings_are_reported(campaign, monkeypatch):
    monkeypatch.setattr(streams, "_verdicts", lambda: "true")
    with pytest.raises(FoundError, match=r"gives no verdict\nrepeat: .* --seed 1 --first 0 "):
        campaign.run(SEED, 0, 100)
