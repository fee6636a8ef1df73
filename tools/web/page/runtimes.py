# SPDX-License-Identifier: MIT
"""Runs on a board of the page, with `ethosu_tools/check/rules.py` in /rom: what other runtimes do
with a model. Prints a line of JSON per runtime. /rom/facts.json: the facts of the model, and the
runtimes with their limits."""

import json

import rules


class Subject:
    def __init__(self, facts):
        for name, value in facts.items():
            # JSON has no tuples.
            shapes = [tuple(shape) for shape in value] if name.endswith("_shapes") else value
            setattr(self, name, shapes)


with open("/rom/facts.json") as file:
    facts, runtimes = json.load(file)
subject = Subject(facts)
for runtime in runtimes:
    found = rules.verdict(subject, runtime)
    found["sentence"] = rules.sentence(found)
    found["takes"] = found["verdict"] == rules.ACCEPTS
    print(json.dumps(found))
