# SPDX-License-Identifier: MIT
"""Links carry an example, a target and a program; each example runs."""

import json

import pytest

from .steps import (
    ALERT,
    EQUAL,
    LINK_STATUS,
    PROMPT,
    STATUS,
    click,
    type_line,
    with_vela,
)


def test_a_link_carries_the_program(page, address):
    program = "# ä & ü\nprint('from the link', 6 * 7)\n"
    page.evaluate(f"document.getElementById('script').value = {json.dumps(program)}")
    click(page, "link")
    page.wait_for("document.getElementById('link-status').textContent")
    link = page.evaluate("location.href")
    page.open("about:blank")
    page.open(link)
    page.wait_for(PROMPT)
    assert page.evaluate("document.getElementById('script').value") == program
    # A link may come from a stranger.
    assert page.evaluate(LINK_STATUS) == "“Run” starts the program of this link."
    assert "from the link" not in page.screen()
    click(page, "run")
    page.wait_for_screen("from the link 42")
    assert page.evaluate(LINK_STATUS) == ""
    assert all("from" not in request for request in page.requests)


def test_a_link_carries_board_and_memory_mode(page):
    chosen = (
        "['target', 'mode'].map(id => document.getElementById(id).selectedOptions[0].textContent)"
    )
    change = (
        "(() => {{ const s = document.getElementById('{}'); s.selectedIndex = s.length - 1;"
        "s.dispatchEvent(new Event('change')); }})()"
    )
    for name in ("target", "mode"):
        page.evaluate(change.format(name))
    click(page, "link")
    page.wait_for(LINK_STATUS)
    link, before = page.evaluate("location.href"), page.evaluate(chosen)
    assert "board=" in link and ", ethos-u" in before[0]
    page.open("about:blank")
    page.open(link)
    page.wait_for(PROMPT)
    assert page.evaluate(chosen) == before


def test_a_broken_link_is_one_error(page, address):
    """A broken link gives one error, in an open page and in a new one."""
    for words, message in (
        ("npu=ethos-u99", "NPU ethos-u99, which this page does not have. It has "),
        ("npu=ethos-u55-128&mode=None", "memory mode None of ethos-u55-128, "),
        ("board=Abacus", "board Abacus, which this page does not have. It has "),
        ("example=nothing", "example nothing, which this page does not have. "),
    ):
        page.evaluate(f"location.hash = '{words}'")
        page.wait_for(f"{ALERT}.startsWith('The link asks for {message}')")
    page.open("about:blank")
    page.open(f"{address}#{words}")
    page.wait_for(PROMPT)
    assert page.evaluate(ALERT).startswith(f"The link asks for {message}")


def test_a_link_to_a_board_needs_no_npu(page):
    page.evaluate("location.hash = 'board=' + encodeURIComponent('OpenMV AE3')")
    chosen = "document.getElementById('target').selectedOptions[0].textContent"
    page.wait_for(f"{chosen}.startsWith('OpenMV AE3')")


def test_another_link_in_the_same_page_is_followed(page):
    page.evaluate("location.hash = 'npu=ethos-u65-256&script=print(1)'")
    page.wait_for("document.getElementById('script').value === 'print(1)'")
    page.wait_for(PROMPT)
    type_line(page, "import ethosu; ethosu.npus()")
    page.wait_for_screen("ethos-u65-256")


@with_vela
def test_a_link_carries_example_and_program(page, address):
    page.open("about:blank")
    page.open(f"{address}#example=okay_nabu&npu=ethos-u85-256&script=print(6*7)")
    page.wait_for("document.body && document.body.dataset.done")
    assert page.evaluate(STATUS) == EQUAL
    assert "script=print" in page.evaluate("location.hash")
    page.wait_for_screen("<Model ethos-u85-256")
    assert "\n42\n" not in page.screen()
    click(page, "run")
    page.wait_for_screen("\n42\n")


@with_vela
@pytest.mark.parametrize("name", ["okay_nabu", "hey_jarvis", "discs", "small_cnn", "mobilenet_v2"])
def test_each_example_runs(page, address, name):
    page.open("about:blank")
    page.open(f"{address}#example={name}")
    page.wait_for("document.body && document.body.dataset.done")
    assert page.evaluate(STATUS) == EQUAL
    page.wait_for_screen("(Ctrl-C ends it)")
    ready = "document.querySelector('#recording:not([hidden]), #picture:not([hidden])')"
    if page.evaluate(f"!!{ready}"):
        page.evaluate(f"{ready}.click()")
        page.wait_for("document.querySelector('#message').textContent || "
            "document.querySelectorAll('#scores li').length")  # fmt: skip
