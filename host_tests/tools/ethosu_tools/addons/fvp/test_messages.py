# SPDX-License-Identifier: MIT
"""Messages of the FVP are on the page."""

from ethosu_tools.addons.fvp import messages


def test_each_message_has_a_section(repo):
    page = (repo / "tools/ethosu_tools/addons/fvp/README.md").read_text()
    assert all(f"\n## {message.title}\n" in page for message in messages.MESSAGES)
