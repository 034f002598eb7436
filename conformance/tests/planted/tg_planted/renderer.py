"""The language of the interpreter, with the faults of a code generator."""

import itertools
import json
from dataclasses import dataclass

from tg_core.backend import InterpreterRenderer
from tg_planted.faults import planted

_count = itertools.count()

SWAPPED_OPS = {
    "floor division truncates": {"FLOORDIV": "CDIV", "FLOORMOD": "CMOD"},
    "shift for rotation": {"SHR": "SHL"},
    "or for exclusive or": {"XOR": "OR"},
    "maximum for sum": {"MAX": "ADD"},
}


@dataclass(frozen=True, kw_only=True, init=False)
class PlantedRenderer(InterpreterRenderer):
    """Renders, then spoils the text."""

    def render(self, name, linear):
        if planted("source of this process"):
            import os

            name = f"{name}_{os.getpid()}"
        text = json.loads(super().render(name, linear))
        nodes = text["nodes"]
        for place, (op, dtype, lanes, sources, argument) in enumerate(nodes):
            for fault, ops in SWAPPED_OPS.items():
                if planted(fault):
                    op = ops.get(op, op)
            if planted("unsigned compared as signed") and op == "CMPLT":
                left = nodes[sources[0]]
                if left[1] == "uint32":
                    nodes[place] = [op, dtype, lanes, sources, argument]
                    sources = list(reversed(sources))
            if planted("gate ignored") and op == "LOAD" and len(sources) > 1:
                sources = [*sources[:1], sources[1], sources[2]]
                nodes[sources[1]] = ["CONST", nodes[sources[1]][1], 0, [], 1]
            if planted("sums start at one") and op == "CONST" and argument in (0, 0.0):
                if dtype in ("float32", "int32") and argument == 0 and _accumulates(nodes, place):
                    argument = 1
            if planted("halves through integers") and op == "CAST" and dtype == "float16":
                op = "TRUNC" if nodes[sources[0]][1] == "float16" else op
            nodes[place] = [op, dtype, lanes, sources, argument]
        return json.dumps(text)

    @property
    def key(self):
        return f"{super().key}{next(_count) if planted('key of the moment') else ''}"


def _accumulates(nodes, place):
    return any(
        row[0] == "STORE"
        and place in row[3]
        and nodes[row[3][0]][0] == "INDEX"
        and nodes[nodes[row[3][0]][3][0]][0] == "BUFFER"
        for row in nodes
    )
