# SPDX-License-Identifier: MIT
"""`pytest host_tests/generator -k one_seed --seed N` reruns one case."""

import pytest
import sharing


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=None, help="seed of the generated case to rerun")
    parser.addoption("--family", default=None, help="its family: u55-u65, u55-u65-unsigned, u85")


@pytest.fixture(scope="session", autouse=True)
def npu_library():
    sharing.make("tools/npu_sim", "shared")
    sharing.make("tools/sim_host")
