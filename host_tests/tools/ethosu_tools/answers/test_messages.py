# SPDX-License-Identifier: MIT
"""Messages of other runtimes are recognised as they are printed, and each has its page."""

import re

import pytest
from ai_edge_litert import interpreter
from ethosu.vela import errors
from ethosu_tools.answers import messages
from ethosu_tools.answers.messages import MESSAGES
from ethosu_tools.boards import targets
from ethosu_tools.compile import vela
from ethosu_tools.debug import decode

from host_tests.kit import pages, sharing
from host_tests.kit.models.mixed_models import MODELS

PAGE = "docs/errors.md"


def titles(repo):
    return re.findall(r"^## (.+)$", (repo / PAGE).read_text(), re.MULTILINE)


def test_each_message_has_a_section_with_its_words(repo):
    assert titles(repo) == [message.title for message in MESSAGES]


def test_each_section_shows_it_with_our_tools(repo):
    for section in re.split(r"^## ", (repo / PAGE).read_text(), flags=re.MULTILINE)[1:]:
        kinds = {(block.language, block.mark) for block in pages.parse(PAGE, section)}
        assert ("sh", "test") in kinds, section.splitlines()[0]


@pytest.mark.parametrize("message", messages.every(), ids=lambda message: message.title)
def test_an_example_is_recognised_as_this_message_alone(message):
    ((match, found),) = messages.matches(message.says)
    assert found is message and match[0].count("'") == message.says.count("'")
    cause, advice = message.found(match)
    assert cause and "{" not in cause + advice
    assert "ethosu" in advice or "resolver" in advice or "/rom" in advice


@pytest.mark.parametrize("message", messages.every(), ids=lambda message: message.title)
def test_sources_are_named(message):
    """Each source is a project's file at a commit, a thread, or an installed package."""
    for source in re.split(r"; (?=\S+[/#@])", message.source):
        known = r"[\w.-]+/[\w.-]+(@\w|#\d)|ai-edge-litert|ethos-u-vela|Arm's core driver|TFLite's"
        assert re.match(known, source), source


def test_tflite_prints_it(compiled, small_models):
    """TFLite on this PC prints the message for a compiled model."""
    model = compiled(small_models["small_cnn"])
    with pytest.raises(RuntimeError) as raised:
        interpreter.Interpreter(str(model)).allocate_tensors()
    ((_, found),) = messages.matches(str(raised.value))
    assert found.title == messages.UNRESOLVED


def test_vela_prints_it(tmp_path):
    """Vela on this PC prints the messages for operators that it leaves to the CPU."""
    path = tmp_path / "mixed.tflite"
    path.write_bytes(MODELS["segmenter"].make())
    options = vela.vela_options("ethos-u55-128", targets.TARGETS["ethos-u55-128"])
    printed = vela.run_vela(path, [*options, "--output-dir", str(tmp_path)])
    found = [(match["name"], message.title) for match, message in messages.matches(printed)]
    names = "TRANSPOSE_CONV", "RESIZE_BILINEAR"
    assert found == [(name, messages.ON_CPU) for name in names]


def test_micropython_prints_it():
    source = sharing.micropython() / "py/persistentcode.c"
    printed = set(re.findall(r'"(incompatible \.mpy \w+)"', source.read_text()))
    assert printed == {"incompatible .mpy file", "incompatible .mpy arch"}
    assert all(list(messages.matches(text)) for text in printed)


@pytest.mark.parametrize("message", messages.every(), ids=lambda message: message.title)
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


# Number of error strings in each project's sources. Arm's driver has 35 of LOG_ERR and LOG_WARN,
# without "NPU status", six of "NPU config mismatch", and one in a comment.
LOGS = {
    "Arm's core driver": 29,
    "pytorch/executorch": 23,
    "tensorflow/tflite-micro": 58,
    "TFLite Micro's examples": 1,
    "ethos-u-vela": 9,
}


def printed(form: str) -> str:
    """Print a format string with possible numbers and words."""
    values = {"d": "-1", "u": "41", "x": "7f", "p": "0x20001230", "s": "CONV_2D"}
    return re.sub(r"%[lz]?(\w)", lambda match: values[match[1]], form)


def test_each_string_that_other_projects_print_is_explained_once(small_models):
    counts = dict.fromkeys(LOGS, 0)
    for form, message in messages.logs().items():
        log = f"boot\r\nE: file.c:12: {printed(form)}\r\nthe end\r\n"
        (found,) = decode.decode(log, small_models["small_cnn"])
        assert found.message == printed(form), form
        assert found.cause.startswith(message.cause) and "`ethosu" in found.advice
        counts[next(name for name in LOGS if message.source.startswith(name))] += 1
    assert counts == LOGS


def test_each_error_that_vela_can_raise_is_known():
    for error in errors.VelaError.__subclasses__():
        count = error.__init__.__code__.co_argcount - len(error.__init__.__defaults__ or ()) - 1
        said = error(*["x"] * count).data
        assert [message.source[:12] for _, message in messages.matches(said)] == ["ethos-u-vela"]


def test_a_fault_under_zephyr_is_explained(small_models):
    lines = (
        "***** BUS FAULT *****",
        "  Precise data bus error",
        "  BFAR Address: 0x50000000",
        "r0/a1:  0x00000000  r1/a2:  0x00000001  r2/a3:  0x00000002",
        "Faulting instruction address (r15/pc): 0x00001234",
    )
    log = "".join(f"[00:00:01.540,000] <err> os: {line}\r\n" for line in lines)
    (found,) = decode.decode(f"{log}shell> ", small_models["small_cnn"])
    words = "Bus fault; Precise data bus error at 0x50000000, pc 0x00001234"
    assert found.cause == words and "--firmware" in found.advice


def test_numbers_of_a_message_are_in_the_answer(small_models):
    said = "Failed to resize buffer. Requested: 11373728, available 1135736, missing: 10237992"
    (found,) = decode.decode(said, small_models["small_cnn"])
    assert "lacks at least 10,237,992 bytes" in found.cause
