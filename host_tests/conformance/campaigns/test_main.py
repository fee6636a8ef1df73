# SPDX-License-Identifier: MIT
"""Campaigns resume where they stopped, and report their results."""

import json

import pytest

from host_tests.pages import commands

from . import __main__ as campaigns
from . import common
from .common import FoundError


class Counting:
    """A campaign with a finding at run `bad`."""

    chunk = 10

    def __init__(self):
        self.tried, self.bad = [], None

    def run(self, seed, first, count):
        if self.bad is not None and first <= self.bad < first + count:
            raise FoundError(f"run {self.bad}")
        self.tried.append((seed, first, count))
        return {"tried": count, "most_bytes": first}


@pytest.fixture
def counting(monkeypatch, tmp_path):
    campaign = Counting()
    monkeypatch.setattr(common, "BUILD", tmp_path)
    row = campaigns.CAMPAIGNS["streams"]._replace(make=lambda: campaign)
    monkeypatch.setitem(campaigns.CAMPAIGNS, "streams", row)
    return campaign


def run(capsys, *words):
    code = campaigns.main(["streams", "--json", *words])
    return code, json.loads(capsys.readouterr().out)


def test_a_campaign_resumes_with_its_seed_and_restarts_with_another(counting, capsys):
    assert run(capsys, "--runs", "10", "--seed", "7")[0] == 0
    code, found = run(capsys, "--runs", "25")
    assert (code, found["seed"], found["runs"]) == (0, 7, 25)
    assert found["counts"] == {"tried": 25, "most_bytes": 20}
    assert counting.tried == [(7, 0, 10), (7, 10, 10), (7, 20, 5)]
    run(capsys, "--runs", "5", "--seed", "8")
    assert counting.tried[3:] == [(8, 0, 5)]


def test_a_finding_ends_the_campaign_and_can_be_reproduced(counting, capsys):
    counting.bad = 13
    for _ in range(2):
        code, found = run(capsys, "--runs", "30", "--seed", "7")
        assert (code, found["found"]) == (1, "run 13")
    assert counting.tried == [(7, 0, 10)]
    assert run(capsys, "--runs", "1", "--seed", "7", "--first", "13")[0] == 1


def test_each_campaign_names_goals_of_make(repo, capsys):
    assert campaigns.main([]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == list(campaigns.CAMPAIGNS)
    for name in names:
        assert campaigns.main([name, "--needs"]) == 0
        assert set(capsys.readouterr().out.split()) <= commands.targets(".", "Makefile")
