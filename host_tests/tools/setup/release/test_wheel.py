# SPDX-License-Identifier: MIT
"""The wheel works in a fresh environment outside the tree, and is reproducible."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email.parser import Parser
from functools import partial
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.answers import points
from ethosu_tools.base import addons, paths
from ethosu_tools.boards import systems
from ethosu_tools.model import arrays

from host_tests.kit import found as found_rows
from host_tests.kit import sharing

# Packages of the environment, without the tools, which are linked, not downloaded.
_OURS = (
    "ethosu_tools",
    "__editable__",
    "emulator-stubs",
    "ethosu-stubs",
    "ethosu_audio-stubs",
    "ethosu_files-stubs",
    "ethosu_image-stubs",
    "ethosu_results-stubs",
    *(f"{name}-stubs" for name in addons.texts("board package")),
)
# It is linked when a program starts.
APART = ("GNU C library",)
MODEL = "build/examples/small_cnn.tflite"
TEST = """\
def test_npu_is_there(board, board_npu):
    assert board.eval("__import__('ethosu').npus()") == [board_npu]
"""
PROGRAM = """\
import ethosu
import ethosu_audio
from emulator import fault
from ethosu_results import top

best = top(ethosu.Model("kws"), [1, 2], count=1)[0][1] + 0.5

async def run(model: ethosu.Model) -> int:
    fault("hang")
    out = await model.run([bytearray(768)])
    return len(out[0]) + len(model.labels or []) + ethosu_audio.Ring(320).overruns
"""
MISTAKES = {
    "model.labels": ("model.labls", 'has no attribute "labls"'),
    "count=1": ("many=1", 'Unexpected keyword argument "many" for "top"'),
}


@pytest.fixture(scope="module")
def program(repo):
    return sharing.script(repo / "tools/setup/release/wheel.py")


@pytest.fixture(scope="module")
def wheel(program, repo, tmp_path_factory) -> Path:
    made, absent = program.make(tmp_path_factory.mktemp("wheel"), repo)
    wanted = [f"build/firmware/{board.name}/firmware.elf" for board in boards.every()]
    assert set(absent) <= set(wanted)  # other boards' images are `make board-images`
    assert f"build/firmware/{boards.DEFAULT}/firmware.elf" not in absent
    return made


def environment(folder: Path) -> Path:
    """Make an environment with the packages of this one, without the tools; returns its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(_OURS):
            (packages / entry.name).symlink_to(entry)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def outside(wheel, tmp_path_factory):
    """Run a program of a new environment, in a separate folder, with only that on PATH."""
    place = tmp_path_factory.mktemp("outside")
    python = environment(place / "venv")
    # The linked pip is not used, as it would check which packages it may remove.
    install = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    subprocess.run([python, *install, "--no-index", wheel], check=True)
    kept = {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}

    def run(*words: object, path: str = os.environ["PATH"], **environment: str):
        command = [python, "-P", "-m", *map(str, words)]
        return subprocess.run(
            command,
            cwd=place,
            capture_output=True,
            text=True,
            env=kept | {"PATH": path} | environment,
        )

    run.folder, run.python = place, python
    return run


@pytest.fixture(scope="module")
def found(outside):
    """Return what `ethosu doctor` finds in the environment."""
    return json.loads(outside("ethosu_tools.cli", "doctor", "--json").stdout)


@pytest.fixture(scope="module")
def example(outside, found, repo):
    """Return a model from the wheel, and inputs for it."""
    tree = Path(found["files"])
    assert repo not in tree.parents
    model, inputs = tree / MODEL, outside.folder / "in.npz"
    description = json.loads(outside("ethosu_tools.cli", "inspect", model, "--json").stdout)
    arrays.save(inputs, {"0": arrays.np.zeros(description["inputs"][0]["shape"], "int8")})
    return model, inputs


def test_it_is_the_same_when_it_is_made_again(program, wheel, repo, tmp_path):
    again, _ = program.make(tmp_path, repo)
    assert again.name == wheel.name
    assert (
        hashlib.sha256(again.read_bytes()).digest() == hashlib.sha256(wheel.read_bytes()).digest()
    )


def test_its_name_lists_the_supported_systems(wheel, program, repo):
    machine = os.uname().machine
    assert wheel.name.endswith(f"_{machine}.whl") and "-py3-none-manylinux_2_" in wheel.name
    tag = program.platform_tag([Path(sys.executable)])
    assert tag.startswith("manylinux_2_") and tag.endswith(machine)


def test_it_holds_nothing_of_this_machine(wheel, repo):
    with zipfile.ZipFile(wheel) as file:
        names = [name for name in file.namelist() if str(repo).encode() in file.read(name)]
    assert names == []


def test_its_licences_and_its_sbom_are_where_installers_keep_them(wheel):
    """PEP 639 and PEP 770; they are nowhere else."""
    with zipfile.ZipFile(wheel) as file:
        names = {Path(name).name: name for name in file.namelist()}
        info = names["METADATA"].removesuffix("/METADATA")
        metadata = Parser().parsestr(file.read(names["METADATA"]).decode())
        listed = {f"{info}/licenses/{name}" for name in metadata.get_all("License-File")}
        kept = {f"{info}/sboms/sbom.spdx.json"} | listed
        assert {names[name] for name in ("LICENSE", "THIRD_PARTY.txt", "sbom.spdx.json")} == kept
        assert (
            sum(name.endswith(("THIRD_PARTY.txt", ".spdx.json")) for name in file.namelist()) == 2
        )
        assert b"Runtime Library" in file.read(names["THIRD_PARTY.txt"])
        sbom = json.loads(file.read(names["sbom.spdx.json"]))
        inside = {
            f"./{name}": hashlib.sha256(file.read(name)).hexdigest()
            for name in file.namelist()
            if name.endswith((".so", ".elf", ".bin", ".wasm"))
        }
    assert {each["fileName"]: each["checksums"][1]["checksumValue"] for each in sbom["files"]} == (
        inside
    )
    parts = {each["licenseDeclared"] for each in sbom["packages"] if each["name"] not in APART}
    expression = metadata["License-Expression"]
    assert {part.strip("()") for part in expression.split(" AND ")} == parts


def test_doctor_finds_the_contents_of_the_wheel(found):
    checks = {each["name"]: each for each in found["checks"]}
    for name in ("simulator", "QEMU", "QEMU plugin", "firmware", "examples"):
        assert checks[name]["missing"] is None, checks[name]


def test_it_knows_the_memories_of_each_board(outside):
    code = (
        "from ethosu_tools.answers import points\nfrom ethosu_tools.boards import systems\n"
        "print([each.facts.config.name for each in systems.every()], len(points.published()))"
    )
    command = [outside.python, "-c", code]
    there = subprocess.run(command, capture_output=True, text=True, cwd=outside.folder)
    here = [each.facts.config.name for each in systems.every()], len(points.published())
    assert there.stdout.strip() == " ".join(map(str, here)), there.stderr


@pytest.mark.parametrize("where", ["sim", "qemu"])
def test_a_model_runs(outside, example, where):
    model, inputs = example
    done = outside("ethosu_tools.cli", "run", model, "--input", inputs, "--on", where)
    assert done.returncode == 0, done.stderr
    assert "output 0  int8 [1, 10]" in done.stdout


def test_the_demo_listens(outside):
    done = outside("ethosu_tools.cli", "demo", "--on", "sim", "-o", outside.folder / "demo")
    assert done.returncode == 0, done.stderr
    assert "detected okay_nabu" in done.stdout


def test_the_pytest_plugin_is_installed(outside):
    (outside.folder / "test_npu.py").write_text(TEST)
    done = outside("pytest", "-q", "-p", "no:cacheprovider", "test_npu.py")
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout


def test_a_missing_qemu_is_one_error_with_the_package(outside):
    done = outside("ethosu_tools.cli", "qemu", path="/nowhere")
    assert done.returncode == 4 and done.stderr.count("\n") == 1
    assert "install Debian's qemu-system-arm" in done.stderr


def test_anything_not_in_the_wheel_is_one_error(outside):
    command = [outside.python, "-c", "from ethosu_tools.base import paths\npaths.firmware('B')"]
    done = subprocess.run(command, cwd=outside.folder, capture_output=True, text=True)
    assert "SetupError: " in done.stderr and "set ETHOSU_ROOT" in done.stderr


def test_type_checkers_know_the_modules(outside):
    words = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", outside.folder / "mypy"]
    words += ["--python-executable", outside.python]
    run = partial(subprocess.run, cwd=outside.folder, capture_output=True, text=True)
    added = [(each.TYPED, each.MISTAKES) for each in found_rows.modules("board_rows")]
    for number, (text, mistakes) in enumerate([(PROGRAM, MISTAKES), *added]):
        # Each text has a file, as mypy's cache takes files of equal size and time for equal.
        right, wrong = f"user{number}.py", f"wrong{number}.py"
        (outside.folder / right).write_text(text)
        for good, (bad, _) in mistakes.items():
            assert good in text
            text = text.replace(good, bad)
        (outside.folder / wrong).write_text(text)
        done = run([*words, right])
        assert done.returncode == 0, done.stdout
        done = run([*words, wrong])
        for _, said in mistakes.values():
            assert said in done.stdout


def test_the_tree_of_paths_is_the_repo_here(repo):
    assert paths.root() == repo and paths.can_build()


def test_the_container_file_names_existing_files(repo):
    text = (repo / "tools/setup/Containerfile").read_text()
    (extras,) = re.findall(r"\$wheel\[(.*?)\]", text)
    project = tomllib.loads((repo / "pyproject.toml").read_text())["project"]
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    (packages,) = re.findall(r"--no-install-recommends (.*) \\", text)
    known = (repo / "Makefile").read_text().split()
    assert [name for name in packages.split() if name not in known] == []


@pytest.mark.slow
def test_the_container_file_builds_and_runs(wheel, repo, tmp_path):
    """The container file builds and runs, with buildah and Debian's image."""
    if shutil.which("buildah") is None:
        pytest.skip("buildah is missing: apt-get install buildah")

    def buildah(*words, check=True):
        done = subprocess.run(["buildah", *map(str, words)], capture_output=True, text=True)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    if not buildah("images", "--quiet", "--filter", "reference=debian:12-slim", check=False):
        pytest.skip("the image debian:12-slim is missing: buildah pull debian:12-slim")
    certificates = Path("/etc/ssl/certs/ca-certificates.crt")
    mine = ["--isolation", "chroot", "--volume", f"{certificates.parent}:{certificates.parent}:ro"]
    file = repo / "tools/setup/Containerfile"
    shutil.copy(wheel, tmp_path)
    name = f"ethosu-test-{os.getpid()}"
    options = ["--pull-never", "--layers", "--env", f"PIP_CERT={certificates}", "-t", name]
    buildah("bud", *mine, *options, "-f", file, tmp_path)
    container = buildah("from", "--pull-never", f"localhost/{name}")
    try:
        run = ["run", *mine[:2], container, "--"]
        assert "simulator" in buildah(*run, "ethosu", "doctor")
        assert "detected okay_nabu" in buildah(*run, "ethosu", "demo", "-o", "/tmp/demo")
    finally:
        buildah("rm", container)
        buildah("rmi", name)
