# SPDX-License-Identifier: MIT
"""Input reaches the board that runs when it is typed, and no later one."""

from .test_files import PAGE, run

BEGIN = (
    f"import {{ Ring }} from '{PAGE}/board/ring.mjs'; import assert from 'node:assert';"
    "const page = new Ring(), worker = new Ring(page.shared);"
    "const give = (text) => page.give(new TextEncoder().encode(text));"
    "const bytes = new Uint8Array(100);"
    "const take = () => new TextDecoder().decode(bytes.slice(0, worker.take(bytes)));"
    "const restart = (name) => page.restart([name], new Uint8Array([name.length]));"
)


def test_text_after_a_restart_is_for_the_new_board():
    run(
        BEGIN + "give('old'); restart('u55'); give('new');"
        "assert.equal(take(), '');"
        "assert.deepEqual(worker.takeRestart().npus, ['u55']);"
        "assert.equal(take(), 'new');"
    )


def test_a_restart_while_the_board_takes_input_discards_it():
    run(
        BEGIN + "give('old');"
        "const target = new Proxy({ length: 1 }, { set() { restart('u55'); return true; } });"
        "assert.equal(worker.take(target), 0);"
        "worker.takeRestart(); give('new');"
        "assert.equal(take(), 'new');"
    )


def test_a_restart_while_the_board_takes_another_one_is_taken():
    run(
        BEGIN + "restart('u55');"
        "const { box } = worker;"
        "worker.box = { slice(...at) { worker.box = box; const old = box.slice(...at);"
        " restart('u85-256'); return old; } };"
        "const { number, npus, romfs } = worker.takeRestart();"
        "assert.deepEqual([number, npus, [...romfs]], [2, ['u85-256'], [7]]);"
        "assert(!worker.restartRequested());"
    )
