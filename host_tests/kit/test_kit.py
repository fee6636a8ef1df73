# SPDX-License-Identifier: MIT
"""The kit's caching and counting."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from host_tests.kit import cpu_seconds, sharing, vela_once

BURN = """
import time
while time.process_time() < 0.3: pass
print(flush=True)
input()
"""


def test_cpu_seconds_count_a_living_child_and_one_that_has_ended():
    before = cpu_seconds.used()
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        assert cpu_seconds.used() - before > 0.25
        child.stdin.write(b"\n")
    assert cpu_seconds.used() - before > 0.25


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
def test_threads_that_end_in_the_meantime_are_not_an_error(monkeypatch, error):
    """An exception here would end the worker of pytest-xdist, and with it the whole run."""

    def ended(*_):
        raise error

    for module, name in ((cpu_seconds, "open"), (cpu_seconds.os, "listdir")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, ended, raising=False)
            assert cpu_seconds.used() > 0


def test_a_test_of_many_seconds_needs_the_mark():
    table = cpu_seconds.Table()
    for name, marks, when, seconds in (
        ("a.py::short", {}, "call", 1.0),
        ("a.py::long", {}, "call", 6.0),
        ("b.py::fixture", {}, "setup", 6.0),
        ("b.py::marked", {"slow": 1}, "call", 6.0),
    ):
        report = SimpleNamespace(nodeid=name, keywords=marks, when=when, cpu_s=seconds)
        table.pytest_runtest_logreport(report)
    assert table.slow == {"a.py::long": 6.0}
    assert table.files == {"a.py": 7.0, "b.py": 12.0}


def test_only_a_changed_source_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing, "CACHE", tmp_path / "cache")
    versions = iter([b"1", b"2"])
    sources = [tmp_path / "main.c", tmp_path / "one.c"]
    sources[0].write_text("int one(void); int main(void) { return one(); }\n")
    codes = []
    for code in (3, 4):
        sources[1].write_text(f"int one(void) {{ return {code}; }}\n")
        version = next(versions)
        monkeypatch.setattr(sharing, "c_sources", lambda version=version: version)
        program = sharing.program("p", ["gcc", "-Wall", *sources, "-lm", "-o"])
        codes.append(subprocess.run([program]).returncode)
    assert codes == [3, 4]
    kept = sorted(path.name.partition("-")[2] for path in (tmp_path / "cache").glob("*.o"))
    assert kept == ["main.o", "one.o", "one.o"]


def test_vela_runs_once_for_the_same_model_and_options(tmp_path, monkeypatch):
    monkeypatch.setattr(sharing, "CACHE", tmp_path / "cache")
    runs = []

    def vela(source, options):
        runs.append(options[:-2])
        output = sharing.Path(options[-1])
        (output / f"{source.stem}_vela.tflite").write_bytes(source.read_bytes()[::-1])
        return "said"

    monkeypatch.setattr(vela_once, "_real", vela)
    for folder, name in (("a", "x.tflite"), ("b", "x.tflite"), ("c", "y.tflite")):
        source, output = tmp_path / folder / name, tmp_path / folder / "out"
        output.mkdir(parents=True)
        source.write_bytes(b"model")
        assert vela_once.run_vela(source, ["--npu", "u55", "--output-dir", output]) == "said"
        assert (output / f"{source.stem}_vela.tflite").read_bytes() == b"ledom"
    assert runs == [["--npu", "u55"]]
