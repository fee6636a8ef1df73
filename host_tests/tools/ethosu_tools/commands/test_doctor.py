# SPDX-License-Identifier: MIT
"""`ethosu doctor` lists what is installed and what is missing, and how to get it."""

import json
import re
from types import SimpleNamespace

import pytest
from ethosu_tools.commands import doctor
from ethosu_tools.link.emulator.qemu import Machine

USB = SimpleNamespace(
    device="/dev/nowhere",
    vid=0x37C5,
    pid=0x1206,
    serial_number="1",
    manufacturer="A",
    product="B",
)


def checks(out):
    return {each["name"]: each for each in json.loads(out)["checks"]}


def test_what_is_installed(ethosu):
    code, out, _ = ethosu("doctor", "--json")
    found = checks(out)
    assert code == 0 and found["QEMU plugin"]["found"].endswith("libethosu_qemu.so")
    assert re.match(r"\d+\.\d+\.\d+ with plugin API [1-7], /", found["QEMU"]["found"])
    assert found["ethos-u-vela"]["found"] == "5.2.0"


@pytest.mark.parametrize(
    ("variable", "value", "name", "remedy"),
    [
        ("ETHOSU_QEMU", "no-such-qemu", "QEMU", "sudo apt install qemu-system-arm"),
        ("ETHOSU_SIM_LIBRARY", "/nowhere/a.so", "simulator", "make sim-host"),
    ],
)
def test_missing_tools_are_named(ethosu, monkeypatch, variable, value, name, remedy):
    monkeypatch.setenv(variable, value)
    code, out, _ = ethosu("doctor", "--json")
    found = checks(out)[name]
    assert code == 0 and found["found"] is None and remedy in found["missing"]
    assert f"{name:<18}MISSING" in ethosu("doctor")[1]


def test_boards_that_are_plugged_in(ethosu, monkeypatch):
    """Boards that are plugged in are listed; pyserial's list is replaced by an emulated board."""
    with Machine() as machine:
        rows = [USB, SimpleNamespace(**vars(USB) | {"device": machine.port})]
        monkeypatch.setattr(doctor, "usb_ports", lambda: rows)
        _, out, _ = ethosu("doctor", "--json")
        assert [row["usb"] for row in json.loads(out)["boards"]] == ["37c5:1206"] * 2
        code, out, _ = ethosu("doctor", "--ask")
        assert code == 0 and "cannot be opened" in out
        assert machine.npu in out.splitlines()[-1] and "ethosu 0." in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--board", "NUMAKER_M55M1"), "--board is for PORT"),
        (("--requirements",), "--requirements is for --install KIT"),
        (("PORT", "--pip=--pre"), "--pip is for --install KIT"),
        (("PORT", "--ask"), "give only one of PORT, --ask"),
        (("--ask", "--install", "alif"), "give only one of --ask, --install"),
    ],
)
def test_an_option_of_another_question_is_refused(ethosu, words, said):
    code, out, err = ethosu("doctor", *words)
    assert (code, out) == (2, "") and said in err
