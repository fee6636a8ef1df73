# SPDX-License-Identifier: MIT
"""Short form of the campaign on command streams, and tests that it can find defects."""

import json

import pytest

from . import loading
from .common import FoundError
from .loading import Loading

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("builds_for_32_bits")]
RUNS = 3_000


@pytest.fixture
def campaign(small_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "BUILD", tmp_path)
    return Loading(small_corpus, "streams")


def test_corpus_has_all_npus_and_memory_modes(small_corpus):
    about = json.loads((small_corpus / "about.json").read_text())
    families = [npu.split("-")[1] for npu in about["npus"]]
    assert [families.count(family) for family in ("u55", "u65", "u85")] == [4, 2, 5]
    modes = {"Sram_Only", "Shared_Sram", "Dedicated_Sram", "Dedicated_Sram_256KB"}
    assert about["memory modes"].keys() == modes


def test_accepted_streams_stay_inside_and_both_builds_agree(campaign):
    """Vela's streams run, nearly all to their end; changed ones stay inside their memory."""
    vela = campaign.fuzz(sorted((campaign.corpus / "streams").iterdir()))
    assert vela["accepted"] == vela["inputs"]
    assert vela["completed"] > 0.9 * vela["inputs"]
    counts = campaign.run(1, 0, RUNS)
    assert counts["inputs"] >= RUNS - 1  # the first one is empty
    assert counts["accepted"] > 0.4 * RUNS
    assert counts["completed"] > 0.7 * counts["accepted"]


def test_without_the_verifier_streams_leave_their_regions(campaign):
    counts = campaign.run(1, 0, 2_000, UNVERIFIED="1")
    assert counts["outside"] > 100
    # The verifier reports only the writes of commands before the one that it rejects.
    assert counts["unreported"] > 100


@pytest.mark.parametrize(
    ("program", "found"), [("yes", "verdicts differ: error 0 "), ("true", "gives no verdict")]
)
def test_a_build_that_judges_otherwise_is_found(campaign, program, found):
    with pytest.raises(FoundError, match=rf"{found}(.|\n)*repeat: "):
        campaign.run(1, 0, 10, VERDICTS=f"/bin/{program}")
