# SPDX-License-Identifier: MIT
"""Tests the FVPs' command line and parameters, without an emulator."""

import re
from pathlib import Path

import pytest
from ethosu_tools.addons.fvp import command_line, parameters, simulate
from ethosu_tools.addons.fvp.command_line import Data, Dump
from ethosu_tools.addons.fvp.models import MODELS
from ethosu_tools.base.errors import UsageError
from ethosu_tools.boards import targets

U55 = MODELS["FVP_Corstone_SSE-300_Ethos-U55"]
U85 = MODELS["FVP_Corstone_SSE-320"]


def test_the_npus_are_those_of_the_compiler():
    of_models = {f"{model.npu}-{macs}" for model in MODELS.values() for macs in model.sizes()}
    assert of_models == set(targets.NPUS)


def settings(model, *texts):
    """Return the settings and the warnings."""
    warnings = []
    made = parameters.Settings(model, warnings.append)
    for text in texts:
        made.set(text)
    return made, warnings


@pytest.mark.parametrize("model", MODELS.values())
def test_the_list_is_a_configuration_file(model):
    """The list can be read as a configuration file of defaults, without a warning."""
    lines = parameters.file_lines(parameters.listing(model))
    made, warnings = settings(model, *lines)
    assert len(lines) == len(made.known) and warnings == []
    for name, parameter in made.known.items():
        assert made.get(name) == parameter.default


def test_a_configuration_file_has_comments_and_quotes():
    text = "# a comment\n\nethosu.num_macs=256   # (int) MACs\n cpu0.semihosting-cmd_line='a #b'\n"
    lines = parameters.file_lines(text)
    assert lines == ["ethosu.num_macs=256", "cpu0.semihosting-cmd_line='a #b'"]
    lines = parameters.file_lines('mps3_board.uart0.shutdown_tag="a#b"\n')
    assert settings(U55, *lines)[0].get("{board}.uart0.shutdown_tag") == "a#b"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("mps3_board.uart0.out_file=-", "-"),
        ("mps3_board.uart0.out_file='-'", "-"),
        ('mps3_board.uart0.out_file="-"', "-"),
        (' mps3_board.uart0.out_file = "a b" ', "a b"),
        ("cpu_core.mps3_board.uart0.out_file=x=y", "x=y"),
        ("FVP_MPS3_Corstone_SSE_300.mps3_board.uart0.out_file='", "'"),
    ],
)
def test_values_in_quotes_and_names_from_the_top(text, value):
    made, warnings = settings(U55, text)
    assert made.get("{board}.uart0.out_file") == value and not warnings


def test_numbers():
    made, _ = settings(U55, "cpu0.INITSVTOR=0x11000000", "mps3_board.uart0.shutdown_on_eot=true")
    assert made.get("{cpu}.INITSVTOR") == 0x11000000
    assert made.get("{board}.uart0.shutdown_on_eot") is True
    for text in ("ethosu.num_macs=many", "mps3_board.uart0.shutdown_on_eot=2"):
        name, _, value = text.partition("=")
        with pytest.raises(UsageError, match=f"{name}={value}: expected .*, found '{value}'"):
            settings(U55, text)
    for text, expected in (
        ("cpu0.CFGITCMSZ=0", "a whole number from 3 to 15"),
        ("cpu0.semihosting-heap_base=-1", "a whole number from 0x0 to 0xffffffff"),
        ("cpu0.INITSVTOR=0x10000040", "a multiple of 128 from 0x0 to 0xffffff80"),
        ("mps3_board.sse300.NUMVMBANK=0", "a whole number from 1 to 4"),
        ("mps3_board.telnetterminal0.start_port=-5", "a whole number from 1 to 65535"),
    ):
        name, _, value = text.partition("=")
        with pytest.raises(UsageError, match=f"{name}={value}: expected {expected}, found "):
            settings(U55, text)
    for text in ("ethosu.num_macs", "=3"):
        with pytest.raises(UsageError, match="expected NAME=VALUE"):
            settings(U55, text)


@pytest.mark.parametrize(
    ("model", "unknown", "nearest"),
    [
        (U55, "cpu0.semihosting-cmdline", "cpu0.semihosting-cmd_line"),
        (U55, "mps3_board.uart0.shutdown_eot", "mps3_board.uart0.shutdown_on_eot"),
        (U55, "mps4_board.subsystem.ethosu.num_macs", "ethosu.num_macs"),
        (U85, "ethosu.num_macs", "mps4_board.subsystem.ethosu.num_macs"),
    ],
)
def test_an_unknown_parameter_is_named_with_the_nearest(model, unknown, nearest):
    _, warnings = settings(model, f"{unknown}=1")
    assert warnings == [f"unknown parameter {unknown}; the nearest known one is {nearest}"]


def test_what_is_lacking_is_said_unless_it_is_off():
    _, warnings = settings(U55, "mps3_board.smsc_91c111.enabled=1", "cpu0.MPU_S=8")
    assert warnings == [
        "mps3_board.smsc_91c111.enabled=1 has no effect: there is no network",
        "cpu0.MPU_S=8 has no effect: the MPU has 16 regions",
    ]
    assert not settings(U55, "mps3_board.smsc_91c111.enabled=0", "cpu0.MPU_S=16")[1]


def test_uarts_that_do_nothing():
    _, warnings = settings(
        U85, "mps4_board.telnetterminal1.start_telnet=0", "mps4_board.uart1.out_file=-"
    )
    assert warnings == ["mps4_board.uart1.out_file=- has no effect: UART 1 does nothing"]


def parse(*words):
    return command_line.parser(U55.name).parse_intermixed_args([*map(str, words)])


@pytest.mark.parametrize(
    ("words", "images"),
    [
        (["-a", "a.elf"], ["a.elf"]),
        (["a.elf"], ["a.elf"]),
        (["--application", "cpu0=a.elf"], ["a.elf"]),
        (["--application=cpu0*='a b.elf'"], ["a b.elf"]),
        (["-a", "mps4_board.subsystem.cpu0=a.elf", "-a", "b.elf"], ["a.elf", "b.elf"]),
        (["-C", "x=1", "-Cy=2", "--parameter", "z=3", "--stat", "-q", "a.elf"], ["a.elf"]),
        (["-Q", "25", "--quantum=25", "-I", "-p", "a.elf"], ["a.elf"]),
        (["--stat", "a.elf", "-q", "b.elf", "-C", "x=1"], ["a.elf", "b.elf"]),
    ],
)
def test_images(words, images):
    assert [str(path) for path in command_line.images(parse(*words))] == images


def test_an_image_with_an_equals_sign_in_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a=b.elf").touch()
    assert [str(path) for path in command_line.images(parse("-a", "a=b.elf"))] == ["a=b.elf"]


@pytest.mark.parametrize(
    ("text", "file", "address"),
    [
        ("model.pte@0x70000000", "model.pte", 0x70000000),
        ("cpu0=model.pte@0x70000000", "model.pte", 0x70000000),
        ("mps4_board.subsystem.cpu0=m@x.pte@1879048192", "m@x.pte", 0x70000000),
        ('"model.pte"@Secure:0x10', "model.pte", 0x10),
        ("model.pte@010", "model.pte", 10),
    ],
)
def test_data(text, file, address):
    (data,) = parse("--data", text).data
    assert data == Data(data.file, address) and str(data.file) == file


@pytest.mark.parametrize(
    ("text", "dump"),
    [
        ("out.bin@0x93000000,1024", Dump(Path("out.bin"), 0x93000000, 1024)),
        ("cpu0='a b'@Memory:16,0x10", Dump(Path("a b"), 16, 16)),
        ("cpu0=/a,b@c@Secure:0xfffffff0,16", Dump(Path("/a,b@c"), 0xFFFFFFF0, 16)),
    ],
)
def test_dump(text, dump):
    assert parse("--dump", text).dump == [dump]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--dump", "o.bin@0"], "expected [INSTANCE=]FILE@ADDRESS,SIZE, found 'o.bin@0'"),
        (["--dump", "o.bin@0,0"], "expected at least one byte, and addresses of 32 bits, found"),
        (["--dump", "o.bin@0xfffffff0,17"], "expected at least one byte, and addresses of 32 bits"),
        ([], "no firmware image: expected -a FILE"),
        (["--data", "m.pte"], "expected [INSTANCE=]FILE@ADDRESS, found 'm.pte'"),
        (["--data", "m.pte@0x100000000"], "expected an address of 32 bits, found"),
        (["--timelimit", "0", "a.elf"], "expected a number above 0, found '0'"),
        (["--simlimit", "soon", "a.elf"], "expected a number above 0, found 'soon'"),
        (["--nonsense", "a.elf"], "unrecognized arguments: --nonsense"),
    ],
)
def test_wrong_words(words, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        command_line.images(parse(*words))


def test_the_page_has_all_parameters(repo):
    """The page has all parameters of SSE-300, with UART 0 for all UARTs."""
    page = (repo / "tools/ethosu_tools/addons/fvp/README.md").read_text()
    table = page.partition("## Parameters")[2].partition("## ")[0]
    named = set(
        re.findall(r"`([\w-]+(?:\.[\w-]+)+)`", "".join(re.findall(r"^\|(.*?)\|", table, re.M)))
    )
    known = {
        name for name in parameters.of_model(U55) if not re.search(r"(uart|terminal)[125]", name)
    }
    assert named == known


def test_a_command_line_has_at_most_256_characters():
    made, _ = settings(U55, f"cpu0.semihosting-cmd_line={'x' * 300}")
    assert simulate._semihosting(made, [Path("a.elf")])[-1].endswith(f",arg={'x' * 256}")
    made, _ = settings(U55)
    assert simulate._semihosting(made, [Path("b/a.elf")])[-1].endswith(",arg=a.elf")
