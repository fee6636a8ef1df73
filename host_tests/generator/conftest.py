# SPDX-License-Identifier: MIT
"""`pytest host_tests/generator -k one_seed --seed N` reruns one case."""

from host_tests.tools.npu_sim.conftest import npu_library  # noqa: F401  # the fixture


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=None, help="seed of the generated case to rerun")
    parser.addoption("--family", default=None, help="its family: u55-u65, u55-u65-unsigned, u85")
