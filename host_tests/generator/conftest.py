# SPDX-License-Identifier: MIT
"""`pytest host_tests/generator -k one_seed --seed N` reruns one case."""


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=None, help="seed of the generated case to rerun")
