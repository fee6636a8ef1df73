# SPDX-License-Identifier: MIT
"""A build without any optional part works, is small, and reports errors as numbers."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import found, sharing
from host_tests.modules.ethosu import overhead

FEATURES = "verify", "messages", "pte", "pmu", "variables", "audio", "image"
OPTIONS = "ETHOSU_NPUS=u55 u65", "ETHOSU_KERNELS=none", f"ETHOSU_WITHOUT={' '.join(FEATURES)} cop2"
OLD = {
    **{f"ETHOSU_{name.upper()}": f"ETHOSU_WITHOUT={name}" for name in FEATURES},
    **{f"ETHOSU_U{family}": "ETHOSU_NPUS=" for family in (55, 65, 85)},
    **{name: f"CFLAGS_EXTRA=-D{name}=0" for name in ("ETHOSU_AUDIO_MVE", "ETHOSU_IMAGE_MVE")},
}
# Limit for driver, runtime with only the NPU operator, and Python module; 3,000 bytes of this are
# readers of metadata and descriptions.
TEXT_MAX = 43_700
C_TEXT_MAX = 23_500
# Limit of a linked C program that loads a model and runs it on one kind of NPU, at -Os.
# GCC 14 needs 150 bytes more than GCC 12. TensorFlow Lite Micro's objects take 12,364 with its own
# makefile's flags.
PROGRAM_TEXT_MAX = 17_950


def sources(*options):
    """Return the module's sources in a build with options, and the speed-optimised ones."""
    lines = "all:\n\t@echo $(ETHOSU_SRC)\n\t@echo $(ETHOSU_FAST_SRC)\n"
    printed = sharing.ask_module(lines, *options)
    return (set(line.split()) for line in printed.splitlines())


@pytest.mark.parametrize(
    ("option", "left_out"),
    [
        (
            "ETHOSU_WITHOUT=messages",
            {"driver/base/ethosu_messages.c", "runtime/file/operator_names.c"},
        ),
        ("ETHOSU_KERNELS=none", {"runtime/kernels/shared/kernel.c", "runtime/plan/schedule.c"}),
        *(row for each in found.modules("program_rows") for row in each.LEFT_OUT),
        ("ETHOSU_WITHOUT=pmu", {"driver/job/ethosu_pmu.c", "binding/npu/pmu_object.c"}),
        ("ETHOSU_WITHOUT=audio", {"audio/micro.c", "binding/media/audio_module.c"}),
        ("ETHOSU_WITHOUT=image", {"image/image_row.c", "binding/media/image_module.c"}),
    ],
)
def test_an_option_leaves_files_out(option, left_out):
    every, _ = sources()
    fewer, _ = sources(option)
    assert left_out <= every and not left_out & fewer


@pytest.mark.parametrize("name", OLD)
def test_the_name_of_an_earlier_version_is_refused(name):
    """An option's earlier name gives an error that names the new one."""
    with pytest.raises(subprocess.CalledProcessError) as refused:
        sources(f"{name}=0")
    assert f"{name} is now " in refused.value.stderr and OLD[name] in refused.value.stderr


def test_an_option_of_the_tools_does_not_change_a_build(monkeypatch):
    """ETHOSU_VERIFY in the environment, which `ethosu run` reads, does not change a build."""
    expected = list(sources())
    monkeypatch.setenv("ETHOSU_VERIFY", "0")
    assert list(sources()) == expected


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("ETHOSU_NPUS=u55 u56", "ETHOSU_NPUS: unknown family u56; expected: u55 u65 u85"),
        ("ETHOSU_WITHOUT=pmu video", "ETHOSU_WITHOUT: unknown feature video; expected: verify"),
    ],
)
def test_an_unknown_word_is_refused(option, error):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        sources(option)
    assert error in refused.value.stderr


def test_what_runs_at_each_inference_is_made_fast():
    _, fast = sources()
    assert {"driver/job/ethosu_driver.c", "driver/device/device.c", "runtime/run/run.c"} <= fast
    assert "driver/base/ethosu_messages.c" not in fast


def test_a_program_in_c_is_small(repo, tmp_path):
    """Driver and runtime in a linked C program are small, without the C library."""
    module = repo / "modules/ethosu"
    options = ("ETHOSU_NPUS=u55", *OPTIONS[1:])
    made, _ = sources(*options)
    files = sorted(module / name for name in made if not name.startswith("binding/"))
    printed = sharing.ask_module("$(info $(CFLAGS_USERMOD))\nall: ;\n", *options)
    flags = [flag for flag in shlex.split(printed) if flag.startswith("-D")]
    flags = [flag for flag in flags if "MICROPY_" not in flag]
    paths = [f"-I{module / name}" for name in (".", "driver/include", "runtime/include")]
    image, map_file = tmp_path / "program.elf", tmp_path / "program.map"
    command = [
        *("arm-none-eabi-gcc", "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-std=gnu11"),
        *("-Os", "-ffunction-sections", "-fdata-sections", "-Wall", "-Wextra", "-Werror"),
        *(*flags, *paths, "-nostartfiles", "-specs=nano.specs", "-specs=nosys.specs"),
        *("-Wl,--gc-sections,-e,main,-u,npu_interrupt", "-Wl,--defsym=model_file=0"),
        *(f"-Wl,-Map={map_file}", "-o", image, Path(__file__).with_name("program.c"), *files),
    ]
    subprocess.run(command, check=True)
    _, _, kept = map_file.read_text().partition("Linker script and memory map")
    section = r"^ \.(?:text|rodata)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+\S+\.o$"
    text = sum(int(size, 16) for size in re.findall(section, kept, re.M))
    assert 10_000 < text <= PROGRAM_TEXT_MAX


@pytest.fixture(scope="module")
def minimal(tmp_path_factory):
    build = tmp_path_factory.mktemp("minimal")
    sharing.make("firmware", f"BUILD={build}", *OPTIONS)
    return build / "firmware.elf"


@pytest.mark.slow
def test_it_is_small_and_fast(minimal, small_models):
    figures = overhead.measure([small_models["small_cnn"]], firmware=minimal)
    text = figures["text_bytes"]
    assert "runtime/kernels" not in text and figures["u85_text_bytes"] == 0
    assert figures["text_bytes_without_kernels"] == sum(text.values()) <= TEXT_MAX
    assert sum(text.values()) - text["binding"] <= C_TEXT_MAX
    row = figures["models"]["small_cnn"]
    assert row["verifier_instructions_per_word"] < 1
    assert row["instructions_per_invoke_in_c"] <= overhead.AIMS["instructions_per_invoke_in_c"]


@pytest.mark.slow
def test_it_reports_errors_as_numbers(minimal, compiled, small_models):
    good = compiled(small_models["small_cnn"], "ethos-u55-128").read_bytes()
    image = romfs.build({"none.tflite": bytes(100), "good.tflite": good})
    with QemuBoard(Machine(emulated(firmware=minimal), romfs=image)) as board:
        board.exec("import ethosu")
        with pytest.raises(RemoteError, match=r"ValueError: refused at formats\.c:\d+"):
            board.exec("ethosu.Model('/rom/none.tflite')")
        with pytest.raises(RemoteError, match="ValueError: 2 ffffffff 4 8 0"):
            board.exec("ethosu.reserve().invoke(b'COP1', [])")
        with pytest.raises(RemoteError, match=r"ValueError: .*2e ffffffff"):
            board.exec("ethosu.Model('/rom/good.tflite')")
        board.exec("ethosu.Model('/rom/good.tflite', verify=False).run_into()")
