# SPDX-License-Identifier: MIT
"""Without third-party models, their fixture skips tests with a reason, or fails them where all
tests have to run."""

import pytest

from host_tests.kit import fixtures


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Return the fixture's function for a tree without models, and the models' folder."""
    monkeypatch.setattr(fixtures, "REPO", tmp_path / "tree")
    monkeypatch.delenv("CI", raising=False)
    return fixtures.shared_models._get_wrapped_function(), tmp_path / "shared/models"


def test_absent_models_skip_with_the_reason_or_fail_in_continuous_integration(models, monkeypatch):
    reason = "third-party models are not part of the tree"
    with pytest.raises(pytest.skip.Exception, match=reason):
        models[0]()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=reason):
        models[0]()


def test_present_models_are_used(models):
    fixture, folder = models
    folder.mkdir(parents=True)
    assert fixture() == folder
