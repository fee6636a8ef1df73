# SPDX-License-Identifier: MIT
"""What a model costs, layer by layer: `ethosu report` and `ethosu compare`.

layers.py   cycles, traffic and MACs of each operator of the model, by its name
subject.py  a model as it is looked at: compiled if need be, estimated, compared with the reference
memory.py   the arena over time, with what layers on the NPU write
charts.py   bars as SVG
page.py     the page
"""
