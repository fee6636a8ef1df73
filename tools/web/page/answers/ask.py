# SPDX-License-Identifier: MIT
"""Runs on a board of the page, with files of ethosu_tools in /rom: prints a line of JSON per call.

/rom/calls.json: [module, function, arguments] of each.
"""

import json

with open("/rom/calls.json") as file:
    calls = json.load(file)
for module, function, arguments in calls:
    print(json.dumps(getattr(__import__(module), function)(*arguments)))
