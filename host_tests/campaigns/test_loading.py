# SPDX-License-Identifier: MIT
"""Short form of the campaigns on loaders and kernels, and tests of their limits."""

import dataclasses
from pathlib import Path

import pytest

from host_tests.kit import found
from host_tests.modules.ethosu.runtime import hostile

from . import loading
from .common import FoundError
from .loading import Loading

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("builds_for_32_bits")]
RUNS = {"models": 1_000, "kernels": 1_000, "payloads": 5_000}
LONGEST = 16_384
BITS = (64, 32)


@pytest.fixture
def campaign(small_corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(loading, "BUILD", tmp_path)
    return Loading(small_corpus, longest=LONGEST)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("target", RUNS)
def test_damaged_files_are_loaded_and_run(campaign, target, bits):
    counts = dataclasses.replace(campaign, target=target, bits=bits).run(1, 0, RUNS[target])
    assert counts["inputs"] >= RUNS[target]
    if target == "payloads":
        assert counts["accepted"] > 100
        return
    if (target, bits) == ("models", 64):
        assert counts["run_on_npu"] > 50
    elif target == "kernels":
        assert counts["run"] > 200


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kind", ["models", "kernels"])
def test_sound_models_are_loaded_and_run(campaign, small_corpus, kind, bits):
    """Unchanged models load and run; otherwise no mutated input would get past the loader."""
    models = sorted((small_corpus / kind).iterdir())
    counts = dataclasses.replace(campaign, bits=bits).fuzz(models)
    assert counts["loaded"] > 0.9 * len(models)
    if kind == "kernels" or bits == 64:
        assert counts["run"] > 0.9 * counts["loaded"]


def test_a_load_that_takes_too_many_steps_is_found(campaign, small_corpus):
    model = small_corpus / "models/small_cnn"
    counts = campaign.fuzz([model])
    with pytest.raises(FoundError, match="more than 1000 steps"):
        campaign.fuzz([model], LOAD_STEPS="1000")
    assert counts["most_load_steps"] > 1000


@pytest.mark.parametrize("bits", BITS)
def test_the_maximum_work_of_a_file_is_accepted(campaign, tmp_path, bits):
    """The campaign's limit accepts all work that the loader accepts (runtime/test_work.py)."""
    makers = list(hostile.MUCH_WORK.values())
    for each in found.modules("campaign_rows"):
        makers += each.MUCH_WORK.values()
    files = [tmp_path / f"{number}" for number in range(len(makers))]
    for file, make in zip(files, makers, strict=True):
        file.write_bytes(make())
    counts = dataclasses.replace(campaign, bits=bits).fuzz(files)
    assert counts["inputs"] >= len(files)


def test_an_interrupted_run_leaves_the_driver_idle(campaign, small_corpus):
    """A run truncated anywhere must not leave the driver busy: it would reject later runs."""
    model = small_corpus / "models/small_cnn"
    ends = [campaign.fuzz([model], RUN_STEPS=str(most)) for most in range(10, 130, 10)]
    assert ends[0]["cut_short"] > 0 and ends[-1]["run_on_npu"] > 0


@pytest.mark.parametrize("bits", BITS)
def test_earlier_findings_stay_fixed(campaign, bits):
    """Files of earlier findings, which their names describe, cause no new finding."""
    files = sorted((Path(__file__).parent / "found").iterdir())
    counts = dataclasses.replace(campaign, bits=bits).fuzz(files)
    assert counts["inputs"] >= len(files) > 0
