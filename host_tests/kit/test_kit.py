# SPDX-License-Identifier: MIT
"""Tests the kit's caching and counting."""

import ast
import os
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

from host_tests.kit import debian, firmware_image, sharing, stand_ins
from host_tests.kit.board_models import keep_file
from host_tests.kit.models import vela_once
from host_tests.kit.process import cpu_seconds
from host_tests.kit.sharing import REPO

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
    """Threads that end meanwhile raise no exception, which would end the whole pytest run."""

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


def test_an_image_that_was_built_again_is_read_again(tmp_path, monkeypatch):
    built = firmware_image.paths.firmware("MPS3_AN547").read_bytes()
    monkeypatch.setattr(firmware_image.paths, "firmware", lambda _: tmp_path / "firmware.elf")
    for name in ("MPS3-AN547", "MPS3-AN548"):
        new = tmp_path / "new"
        new.write_bytes(built.replace(b"MPS3-AN547\0", name.encode() + b"\0"))
        new.rename(tmp_path / "firmware.elf")
        image = firmware_image.of("MPS3_AN547")
        assert image.name == name and firmware_image.of("MPS3_AN547") is image


_READS_IMAGES = re.compile(r"paths\.firmware|\.(elf|map|bin)\b|\bImage\(")


def test_what_is_cached_of_an_image_is_cached_with_its_stamp():
    """An image's cached data has its stamp, or a test would read the data of an older build."""
    found = set()
    for path in (REPO / "host_tests").rglob("*.py"):
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "cache" in source else ():
            cached = isinstance(node, ast.FunctionDef) and any(
                re.match(r"(functools\.)?(lru_)?cache\b", ast.unparse(each))
                for each in node.decorator_list
            )
            if cached and _READS_IMAGES.search(ast.unparse(node)):
                found.add(node.name)
                assert "stamp" in [each.arg for each in node.args.args], f"{path}: {node.name}"
    assert found == {"_read"}


# A stand-in for apt-get, which stores the package q.deb as either command does.
_APT = """\
[ "$1" = -q ] || exit 1
folder=.
for word; do
    case $word in
    -oDir::Cache::archives=*) archives=${word#*=} ;;
    --download-only) folder=$archives ;;
    esac
done
cp "${0%/*}/q.deb" "$folder"
"""


@pytest.mark.parametrize("words", [("download",), debian.WITH_NEEDED])
def test_packages_of_debian_are_unpacked_and_not_kept(tmp_path, monkeypatch, words):
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    lines = "Package: q", "Version: 1", "Architecture: all", "Maintainer: m <m@e>", "Description: d"
    (tree / "DEBIAN/control").write_text("\n".join([*lines, ""]))
    (tree / "content").write_text("q")
    subprocess.run(["dpkg-deb", "--build", tree, tmp_path / "q.deb"], check=True)
    stand_ins.program(tmp_path / "apt-get", _APT, "/bin/sh")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    debian.unpack((), tmp_path / "root", *words, "q")
    found = [path.name for path in (tmp_path / "root").rglob("*")]
    assert found == ["content"]


def test_an_exception_in_a_thread_fails_the_test():
    """An exception in a thread, a warning of pytest, fails the test by pyproject.toml."""
    with pytest.raises(pytest.PytestUnhandledThreadExceptionWarning):
        warnings.warn(pytest.PytestUnhandledThreadExceptionWarning("died"), stacklevel=1)


def test_options_of_the_tests_need_no_path():
    """Values of the tests' options are not taken for paths, as with options of a conftest.py."""
    values = {"--qemu": "installed", "--firmware": "x", "--seed": "1", "--family": "u85"}
    words = [word for option in values.items() for word in option]
    command = [sys.executable, "-m", "pytest", *words, "--markers"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    conftests = list((REPO / "host_tests").rglob("conftest.py"))
    assert conftests
    assert [path for path in conftests if "addoption" in path.read_text()] == []


def test_a_file_that_an_earlier_test_has_changed_is_written_again(board):
    for found in (b"12", b"21", b""):
        board.write_file("/kept", found)
        keep_file(board, "/kept", b"12")
        assert board.read_file("/kept") == b"12"
