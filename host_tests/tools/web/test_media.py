# SPDX-License-Identifier: MIT
"""Tests sound and pictures in the page: recordings, the microphone, files, the camera."""

import pytest
from ethosu_tools.base import paths
from ethosu_tools.model.samples import wake_words

from tools.setup import discs

from .steps import (
    ALERT,
    RUNS,
    choose,
    click,
    files,
    run_program,
    type_line,
)


def test_the_wake_word_is_detected_in_a_recording(page, ready):
    assert choose(page, ready(wake_words.load("okay_nabu").model)) == RUNS
    run_program(page, "okay_nabu")
    page.choose_file("#sound-file", files() / "examples/okay_nabu.wav")
    page.wait_for(
        "document.getElementById('message').textContent.startsWith('Heard okay_nabu at ')"
    )
    assert "the limit is 0." in page.evaluate("document.getElementById('level-text').textContent")


def test_the_wake_word_is_detected_by_the_microphone(page_with_devices, ready):
    page = page_with_devices
    assert choose(page, ready(wake_words.load("okay_nabu").model)) == RUNS
    run_program(page, "okay_nabu")
    click(page, "microphone")
    page.wait_for(
        "document.getElementById('message').textContent.startsWith('Heard okay_nabu at ')"
    )
    click(page, "microphone")
    page.wait_for("document.getElementById('microphone').ariaPressed === 'false'")


@pytest.mark.parametrize(
    "name, breaks",
    [
        ("microphone", "AudioWorklet.prototype.addModule"),
        ("microphone", "AudioContext.prototype.createMediaStreamSource"),
        ("camera", "HTMLMediaElement.prototype.play"),
    ],
)
def test_a_device_that_does_not_start_is_off_again(page_with_devices, name, breaks):
    page = page_with_devices
    page.evaluate(
        f"{breaks} = () => {{ globalThis.disabled = document.getElementById('{name}').disabled;"
        " throw new Error('broken'); };"
        "const real = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);"
        "navigator.mediaDevices.getUserMedia = async (wanted) =>"
        " (globalThis.taken = await real(wanted)); 0"
    )
    click(page, name)
    page.wait_for(f"{ALERT} === 'The {name} does not start: broken'")
    assert page.evaluate("taken.getTracks().map(track => track.readyState)") == ["ended"]
    button = f"document.getElementById('{name}')"
    assert page.evaluate("disabled") and not page.evaluate(f"{button}.disabled")
    assert page.evaluate(f"{button}.ariaPressed") == "false"


def test_objects_of_a_picture_and_of_the_camera(page_with_devices, tmp_path, ready):
    page = page_with_devices
    source = tmp_path / "discs.tflite"
    source.write_bytes(discs.make_model())
    labels = (
        "[...document.querySelectorAll('#scores li')].map(e => e.textContent.split(':')[0]).sort()"
    )
    assert choose(page, ready(source)) == RUNS
    run_program(page, "discs")
    page.choose_file("#picture-file", files() / "examples/discs.png")
    page.wait_for("document.querySelectorAll('#scores li').length")
    assert page.evaluate(labels) == sorted(label for label, *_ in discs.DISCS)
    page.screenshot(paths.work("web_parts") / "page-discs.png")
    click(page, "camera")
    page.wait_for(f"{labels}.length && {labels}.every(label => label === 'green')")


def test_a_missing_input_is_reported(page):
    """A missing microphone, sound or picture is reported in one sentence."""
    click(page, "microphone")
    page.wait_for(f"{ALERT}.includes('microphone')")
    for kind, what in (("sound", "sound file"), ("picture", "picture")):
        page.choose_file(f"#{kind}-file", files() / "style.css")
        page.wait_for(f"{ALERT} === 'The browser cannot read this {what}.'")
    type_line(page, "import browser; browser.show('not JSON')")
    page.wait_for(f"{ALERT} === 'browser.show() expects JSON, found not JSON'")
    type_line(page, "browser.show('[1]'); print(6 * 7)")
    page.wait_for(f"{ALERT}.startsWith('browser.show() expects level')")
    page.wait_for_screen("\n42\n")
