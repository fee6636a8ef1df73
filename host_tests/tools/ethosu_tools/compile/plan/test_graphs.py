# SPDX-License-Identifier: MIT
"""Plans of random mixed graphs keep invariants, whatever Vela has planned."""

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from ethosu_tools.compile.plan import make_plan
from ethosu_tools.compile.plan.kernels import Kernel
from ethosu_tools.compile.plan.placement import ALIGNMENT, Block, align, place
from ethosu_tools.model.tflite import Graph, Operator, Tensor

CODES = {"CONV_2D": 3, "SOFTMAX": 25, "ADD": 0, "RESHAPE": 22, "ethos-u": 32, "SVDF": 27}


def kernels_of(graph):
    """Make kernels like the runtime's, with other scratch sizes, for independence of these."""
    kernels = {}
    for index, operator in enumerate(graph.operators):
        if operator.name == "CONV_2D":
            kernels[index] = Kernel(1, graph.tensors[operator.inputs[1]].size // 4)
        elif operator.name == "SOFTMAX":
            kernels[index] = Kernel(1, 4 * graph.tensors[operator.inputs[0]].shape[-1])
        elif operator.name in ("ADD", "SVDF"):
            kernels[index] = Kernel(1, in_place=operator.name == "ADD")
    return kernels


class Maker:
    """A random graph like Vela's output: computed tensors, constants, operators."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.tensors = []
        self.operators = []
        self.scratch = self.tensor((1,), constant=False)  # size and offset are set last
        self.payload = self.tensor((64,), constant=True)
        self.inputs = [self.tensor() for _ in range(self.dice.randint(1, 2))]
        self.values = list(self.inputs)

    def tensor(self, shape=None, constant=False, variable=False):
        shape = shape or (1, self.dice.choice((1, 7, 16, 100, 999)), self.dice.randint(1, 64))
        data = b"constant" if constant else b""
        self.tensors.append(Tensor("t", shape, "int8", variable=variable, data=data))
        return len(self.tensors) - 1

    def like(self, index):
        return self.tensor(self.tensors[index].shape)

    def add_operator(self):
        pick = self.dice.choice(self.values)
        name = self.dice.choice(("ethos-u", "ethos-u", *CODES))
        outputs = [self.like(pick) if name in ("ADD", "RESHAPE") else self.tensor()]
        inputs = [pick]
        if name == "ethos-u":
            more = [self.dice.choice(self.values)] if self.dice.random() < 0.3 else []
            inputs = [self.payload, self.payload, self.scratch, self.scratch, pick, *more]
        elif name == "CONV_2D":
            size = self.dice.randint(1, 5)
            inputs.append(self.tensor((4, size, size, self.dice.randint(1, 300)), constant=True))
        elif name == "ADD" and self.dice.random() < 0.5:
            inputs.append(self.tensor((1,), constant=True))
        elif name == "SVDF":
            filters = [self.tensor(constant=True), self.tensor(constant=True), -1]
            inputs += [*filters, self.tensor(variable=True)]
        self.operators.append(Operator(name, CODES[name], tuple(inputs), tuple(outputs)))
        self.values += outputs

    def graph(self):
        for _ in range(self.dice.randint(1, 12)):
            self.add_operator()
        outputs = tuple({self.values[-1], self.dice.choice(self.values[len(self.inputs) :])})
        return Graph(tuple(self.tensors), tuple(self.operators), tuple(self.inputs), outputs)


def vela_plans(graph, scratch):
    """Plan like Vela: greedily, all computed tensors except states, NPU memory lowest."""
    live = live_times(graph)
    known = [i for i in live if not graph.tensors[i].variable]
    blocks = [Block(graph.tensors[i].size, min(live[i]), max(live[i])) for i in known]
    placement = place(blocks)
    offsets = dict(zip(known, placement.offsets, strict=True))
    tensors = [replace(t, offset=offsets.get(i, -1)) for i, t in enumerate(graph.tensors)]
    tensors[scratch] = replace(tensors[scratch], offset=0, shape=(max(16, placement.arena),))
    return replace(graph, tensors=tuple(tensors))


def live_times(graph):
    """Return the times at which each computed tensor's bytes are live, counted singly."""
    end = len(graph.operators) + 1
    live = {}
    for index, tensor in enumerate(graph.tensors):
        made = [t for t, op in enumerate(graph.operators, 1) if index in op.outputs]
        made += [0] if index in graph.inputs else []
        used = [t for t, op in enumerate(graph.operators, 1) if index in op.inputs]
        used += [end] if index in graph.outputs else []
        if tensor.variable:
            made, used = [0], [end]
        if made and not tensor.constant:
            live[index] = range(min(made), max([*used, *made]) + 1)
    return live


@pytest.fixture(
    scope="module", params=[50, pytest.param(400, marks=pytest.mark.slow)], ids="{} graphs".format
)
def graphs(request):
    """Make random graphs; the index is the seed."""
    makers = [Maker(seed) for seed in range(request.param)]
    return [vela_plans(maker.graph(), maker.scratch) for maker in makers]


@pytest.fixture(scope="module")
def small_plans(graphs):
    """Return the graphs' plans."""
    return [make_plan(graph, kernels_of(graph)) for graph in graphs]


@pytest.fixture(scope="module")
def busy_plans(graphs):
    """Return plans in which the CPU runs concurrently with the NPU wherever possible."""
    return [make_plan(graph, kernels_of(graph), overlap=True) for graph in graphs]


@pytest.fixture(scope="module", params=["small_plans", "busy_plans"])
def plans(request, small_plans, busy_plans):
    """Return both kinds of plans, in turn."""
    return {"small_plans": small_plans, "busy_plans": busy_plans}[request.param]


def may_share(graph, a, b, time, offsets):
    """Whether these two tensors may share memory while this operator runs."""
    operator = graph.operators[time - 1] if 1 <= time <= len(graph.operators) else None
    if operator is None or offsets[a] != offsets[b]:
        return False
    in_place = operator.name in ("RESHAPE", "ADD")
    reads_writes = any(x in operator.inputs and y in operator.outputs for x, y in ((a, b), (b, a)))
    return in_place and reads_writes and graph.tensors[a].size == graph.tensors[b].size


def test_live_tensors_and_scratch_do_not_overlap(plans):
    for seed, plan in enumerate(plans):
        graph = plan.graph
        offsets, live = plan.offsets, live_times(graph)
        entries = {entry.operator + 1: entry for entry in plan.entries}
        for time in range(len(graph.operators) + 2):
            ranges = [
                (offsets[i], offsets[i] + graph.tensors[i].size, i)
                for i, life in live.items()
                if time in life
            ]
            if time in entries and entries[time].size:
                entry = entries[time]
                ranges.append((entry.offset, entry.offset + entry.size, -1))
            for a, b in pairwise(sorted(ranges)):
                assert a[1] <= b[0] or may_share(graph, a[2], b[2], time, offsets), f"seed {seed}"


def test_what_the_npu_addresses_is_not_moved(plans):
    for seed, plan in enumerate(plans):
        graph = plan.graph
        for operator in graph.operators:
            if operator.on_npu:
                for index in (*operator.inputs[2:], *operator.outputs):
                    assert plan.offsets[index] == graph.tensors[index].offset, f"seed {seed}"


def test_what_is_live_during_a_call_is_where_vela_put_it_or_outside(plans, graphs):
    for seed, (plan, original) in enumerate(zip(plans, graphs, strict=True)):
        graph, before = plan.graph, live_times(original)
        for index, life in live_times(graph).items():
            tensor, offset = graph.tensors[index], plan.offsets[index]
            for time, operator in enumerate(graph.operators, 1):
                if operator.on_npu and time in life:
                    known = plan.schedule.order[time - 1] + 1 in before[index]
                    stays = known and offset == tensor.offset
                    assert stays or offset >= graph.tensors[0].size, f"seed {seed}"


def test_never_larger_than_scratch_behind_velas_arena(small_plans):
    for seed, plan in enumerate(small_plans):
        assert plan.arena <= plan.before, f"seed {seed}"


def test_arena_holds_all_and_no_more(plans):
    for seed, plan in enumerate(plans):
        graph = plan.graph
        ends = [
            offset + tensor.size
            for offset, tensor in zip(plan.offsets, graph.tensors, strict=True)
            if offset >= 0
        ]
        ends += [entry.offset + entry.size for entry in plan.entries]
        assert plan.arena == max(ends), f"seed {seed}"


def test_everything_is_aligned(plans):
    for seed, plan in enumerate(plans):
        assert all(offset == -1 or offset % ALIGNMENT == 0 for offset in plan.offsets), (
            f"seed {seed}"
        )
        assert all(entry.offset % ALIGNMENT == 0 for entry in plan.entries), f"seed {seed}"


def test_every_kernel_has_its_entry(plans):
    for seed, plan in enumerate(plans):
        graph = plan.graph
        own = ("ethos-u", "RESHAPE")
        expected = [i for i, op in enumerate(graph.operators) if op.name not in own]
        assert [entry.operator for entry in plan.entries] == expected, f"seed {seed}"


def test_operators_come_after_those_that_they_wait_for(plans, graphs):
    for seed, (plan, original) in enumerate(zip(plans, graphs, strict=True)):
        assert sorted(plan.schedule.order) == list(range(len(original.operators)))
        known = set(original.inputs)
        made = {index for operator in original.operators for index in operator.outputs}
        for operator in plan.graph.operators:
            assert not {*operator.inputs} & made - known, f"seed {seed}"
            known |= {*operator.outputs}


def test_what_runs_concurrently_with_the_npu_shares_no_cache_line_with_it(plans):
    for seed, plan in enumerate(plans):
        graph, offsets = plan.graph, plan.offsets
        scratch = {entry.operator: entry for entry in plan.entries if entry.size}
        for call, group in plan.schedule.concurrent.items():
            end = align(graph.tensors[graph.operators[call].inputs[2]].size) + 16
            assert group == tuple(range(call + 1, call + 1 + len(group))), f"seed {seed}"
            for index in group:
                operator = graph.operators[index]
                touched = [offsets[i] for i in (*operator.inputs, *operator.outputs) if i >= 0]
                touched += [scratch[index].offset] if index in scratch else []
                assert all(o == -1 or o >= end for o in touched), f"seed {seed}"


def test_the_random_graphs_are_not_trivial(small_plans, busy_plans):
    assert sum(plan.arena < plan.before for plan in small_plans) > len(small_plans) / 8
    assert sum(plan.moved > 0 for plan in small_plans) > len(small_plans) / 30
    assert any(len(buffer.tensors) > 1 for plan in small_plans for buffer in plan.buffers)
    assert sum(bool(plan.schedule.concurrent) for plan in busy_plans) > len(busy_plans) / 15
