# SPDX-License-Identifier: MIT
"""The simulator as WebAssembly gives the answers of the native library, without it and without
what only Linux has; the wheel for any system holds all that this needs.
"""

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
from cffi import FFI
from ethosu_tools.addons.wasm import layout
from ethosu_tools.base import paths
from ethosu_tools.model import make_model

from host_tests.kit import sharing

ABSENT = Path(__file__).parent / "absent"
PROGRAM = Path(sys.executable).with_name("ethosu")
COMMANDS = {
    "compile": "compile MODEL.tflite --npu NPU -o v.tflite",
    "check": "check MODEL.tflite --npu NPU",
    "page": "check MODEL.tflite --npu NPU --html page.html",
    "run": "run v.tflite --on sim --input in.npz --reference MODEL.tflite",
    "inspect": "inspect v.tflite --memory",
    "profile": "profile v.tflite",
    "validate": "validate v.tflite in.npz --reference MODEL.tflite",
}
# Pointers of WebAssembly have 4 bytes, as on a chip and unlike here: the runtime's tables are
# smaller than those of the native library, and so is the heap that a model needs.
OF_POINTERS = {"tables", "heap"}
HEAP = re.compile(r"[\d,]+(?= \(\d+%\)</td>| of [\d,]+ bytes of heap)")


# Of each, the library has functions, or inline ones of headers.
EMSCRIPTEN = {
    "Emscripten",
    "LLVM, compiler-rt",
    "LLVM, headers of Clang",
    "WASI, its header",
    "dlmalloc",
    "musl",
}


def others_in(wheel, name):
    """Return the components of a file in the wheel, by its SBOM."""
    with zipfile.ZipFile(wheel) as file:
        (sbom,) = (file.read(each) for each in file.namelist() if each.endswith(".spdx.json"))
    listed = json.loads(sbom)
    (found,) = (each["SPDXID"] for each in listed["files"] if each["fileName"].endswith(name))
    within = {
        each["relatedSpdxElement"]
        for each in listed["relationships"]
        if each["spdxElementId"] == found and each["relationshipType"] == "CONTAINS"
    }
    return {each["name"] for each in listed["packages"] if each["SPDXID"] in within}


def without(data, keys):
    if isinstance(data, dict):
        return {name: without(each, keys) for name, each in data.items() if name not in keys}
    return [without(each, keys) for each in data] if isinstance(data, list) else data


def ask(program, folder, words, **environment):
    """Run a command; what it writes says nothing of how it was run."""
    run = subprocess.run(
        [program, *words.split(), "--json"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def page(folder):
    """The page that a command has written, if any, without what it says of the heap."""
    file = folder / "page.html"
    return HEAP.sub("", file.read_text()) if file.exists() else ""


def fill(folder):
    """Make models and inputs."""
    make_model.main([str(folder)])
    inputs = np.random.default_rng(1).integers(-128, 128, (5, 1, 16, 16, 3), "i1")
    np.savez(folder / "in.npz", **{"0": inputs})


@pytest.mark.slow  # `make sweeps` builds the library; needs emscripten
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_answers_are_those_of_the_native_library(npu, repo, tmp_path):
    library = paths.built(repo / "build/sim_wasm/ethosu_sim.wasm", "sim-wasm")
    of_wasm = {"ETHOSU_SIM_LIBRARY": str(library), "PYTHONPATH": str(ABSENT)}
    fill(tmp_path)
    pages = []
    for name, words in COMMANDS.items():
        words = words.replace("NPU", npu).replace("MODEL", "small_cnn")
        native, wasm = (
            (without(ask(PROGRAM, tmp_path, words, **each), OF_POINTERS), page(tmp_path))
            for each in ({}, of_wasm)
        )
        assert native == wasm, name
        pages.append(native[1])
    assert "<svg" in pages[-1]


@pytest.mark.slow
def test_the_wheel_for_any_system_needs_nothing_else(repo, tmp_path):
    program = sharing.script(repo / "tools/setup/release/wheel.py")
    wheel, absent = program.make(tmp_path, repo, "any")
    assert not absent and wheel.name.endswith("-py3-none-any.whl")
    assert others_in(wheel, "ethosu_sim.wasm") == EMSCRIPTEN
    program.fill(tmp_path / "native", repo)  # has no part of this one
    assert not [*(tmp_path / "native").rglob("*.wasm")]
    venv.create(tmp_path / "venv", with_pip=True, system_site_packages=False)
    python = tmp_path / "venv/bin/python"
    # The packages of this environment, but neither the tools nor the tree.
    site = next(each for each in sys.path if each.endswith("site-packages"))
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-deps", wheel], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (packages / "others.pth").write_text(f"{site}\n")
    folder = tmp_path / "work"
    folder.mkdir()
    fill(folder)
    bare = {"PATH": str(python.parent), "PYTHONPATH": str(ABSENT)}
    for name in ("compile", "run"):
        words = COMMANDS[name].replace("NPU", "ethos-u85-256").replace("MODEL", "small_cnn")
        answer = ask(python.with_name("ethosu"), folder, words, **bare)
    assert answer["npu"] == "ethos-u85-256"
    found = subprocess.run(
        [python, "-c", "from ethosu_tools.base import paths; print(paths.host_library())"],
        env=os.environ | bare,
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip().endswith(
        "site-packages/ethosu_tools/tree/build/sim_wasm/ethosu_sim.wasm"
    )
    assert str(tmp_path) in found.stdout


def test_structures_are_laid_out_as_in_webassembly():
    ffi = FFI()
    ffi.cdef(
        "struct inner { char a; uint64_t b; }; enum sign { MINUS = -1, PLUS };"
        "struct outer { bool a; void *b; struct inner c; uint16_t d[3]; enum sign e; size_t f; };"
    )
    outer = layout.of(ffi.typeof("struct outer"))
    offsets = {name: at for name, (at, _) in outer.fields.items()}
    assert offsets == {"a": 0, "b": 4, "c": 8, "d": 24, "e": 32, "f": 36}
    assert (outer.size, outer.align) == (40, 8)
    assert layout.of(ffi.typeof("enum sign")).code == "i"
