# SPDX-License-Identifier: MIT
"""Messages of other runtimes are recognised as they are printed, and each has its page."""

import re

import pytest
from ai_edge_litert import interpreter
from ethosu_tools import decode, vela
from ethosu_tools.check import messages
from ethosu_tools.check.messages import MESSAGES
from ethosu_tools.mixed_models import MODELS

PAGE = "docs/errors.md"


def titles(repo):
    return re.findall(r"^## (.+)$", (repo / PAGE).read_text(), re.MULTILINE)


def test_each_message_has_a_section_with_its_words(repo):
    assert titles(repo) == [message.title for message in MESSAGES]


def test_each_section_shows_it_with_our_tools(repo):
    for section in re.split(r"^## ", (repo / PAGE).read_text(), flags=re.MULTILINE)[1:]:
        assert re.search(r"^```sh test\n", section, re.MULTILINE), section.splitlines()[0]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.title)
def test_an_example_is_recognised_as_this_message_alone(message):
    ((match, found),) = messages.matches(message.says)
    assert found is message and match[0].count("'") == message.says.count("'")
    cause, advice = message.found(match)
    assert cause and "{" not in cause + advice
    assert "ethosu" in advice or "resolver" in advice or "/rom" in advice


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.title)
def test_sources_are_named(message):
    """A project's file at a commit, a thread, or a package that is installed here."""
    for source in re.split(r"; (?=\S+[/#@])", message.source):
        known = r"[\w.-]+/[\w.-]+(@\w|#\d)|ai-edge-litert|ethos-u-vela|Arm's core driver|TFLite's"
        assert re.match(known, source), source


def test_tflite_prints_it(compiled, small_models):
    """TFLite on this PC, given a compiled model."""
    model = compiled(small_models["small_cnn"])
    with pytest.raises(RuntimeError) as raised:
        interpreter.Interpreter(str(model)).allocate_tensors()
    ((_, found),) = messages.matches(str(raised.value))
    assert found.title == messages.UNRESOLVED


def test_vela_prints_it(tmp_path):
    """Vela on this PC, given operators that it leaves to the CPU."""
    path = tmp_path / "mixed.tflite"
    path.write_bytes(MODELS["segmenter"].make())
    options = vela.vela_options("ethos-u55-128", vela.TARGETS["ethos-u55-128"])
    printed = vela.run_vela(path, [*options, "--output-dir", str(tmp_path)])
    found = [(match["name"], message.title) for match, message in messages.matches(printed)]
    names = "TRANSPOSE_CONV", "RESIZE_BILINEAR"
    assert found == [(name, messages.ON_CPU) for name in names]


def test_micropython_prints_it(repo):
    source = next((repo / "build/micropython").glob("1.*")) / "py/persistentcode.c"
    printed = set(re.findall(r'"(incompatible \.mpy \w+)"', source.read_text()))
    assert printed == {"incompatible .mpy file", "incompatible .mpy arch"}
    assert all(list(messages.matches(text)) for text in printed)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.title)
def test_decode_explains_it(compiled, small_models, message):
    model = compiled(small_models["small_cnn"])
    (found,) = decode.decode(f"boot\r\n{message.says}\r\nthe end\r\n", model)
    assert found.layer is None and found.cause and found.advice
    arena = f"is {3568:,} bytes"
    assert (arena in found.cause) == message.memory


def test_decode_takes_a_model_that_was_never_compiled(small_models):
    (found,) = decode.decode(
        "Didn't find op for builtin opcode 'CONV_2D'", small_models["small_cnn"]
    )
    assert "CONV_2D" in found.cause and "add CONV_2D to the resolver" in found.advice


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Loading of method forward failed with status 0x21", messages.POOL),
        ("Loading of method forward failed with status 0x14", messages.MISSING),
        ("make: *** exit status 14", None),
        ("ldap: status 21", None),
        ("NPU: status 0x00000014", None),
    ],
)
def test_the_status_of_executorch_is_that_of_a_method(said, title):
    found = [message.title for _, message in messages.matches(said)]
    assert found == ([title] if title else [])


def test_numbers_of_a_message_are_in_the_answer(small_models):
    said = "Failed to resize buffer. Requested: 11373728, available 1135736, missing: 10237992"
    (found,) = decode.decode(said, small_models["small_cnn"])
    assert "lacks at least 10,237,992 bytes" in found.cause
