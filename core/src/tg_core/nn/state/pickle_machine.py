"""A pickle reader that cannot execute anything.

The stack machine of the pickle format is run here over plain values. A global is looked up in what
the caller allows and nowhere else, no class is instantiated, and no method of a value is called.

Source: `pickletools` of Python, which describes every opcode and decodes their arguments.
"""

from __future__ import annotations

import pickletools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, cast

from tg_core.nn.state.bounded_file import BoundedFile

__all__ = ["AllowedFunction", "PickleMachine", "RefusedPickle", "checked_key"]

SCALARS = (str, int, float, bool, bytes, type(None))
"""Types of keys: hashing a deep tuple would overflow the stack."""

NUMBERS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT")
TEXTS = ("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
BYTES = ("STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8")
PUSHED_ARGUMENTS = frozenset([*NUMBERS, *TEXTS, *BYTES])
"""Opcodes whose argument is the value."""
IGNORED = frozenset(["PROTO", "FRAME"])
TUPLE_SIZES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class RefusedPickle(ValueError):
    """A value of a pickle is malformed or not allowed; the message says which."""


@dataclass(frozen=True)
class AllowedFunction:
    """A global that a pickle may call: what stands in for it takes the arguments unchecked."""

    name: str
    build: Callable[[tuple[Any, ...]], Any]


class PickleMachine:
    """Run one pickle.

    Args:
        file: the file, at the pickle's start.
        find_global: from module and name to a value or an `AllowedFunction`; it raises
            RefusedPickle for what is not allowed.
        load_persistent: from a persistent id to its value; it may raise RefusedPickle.
    """

    def __init__(
        self,
        file: BoundedFile,
        find_global: Callable[[str, str], Any],
        load_persistent: Callable[[Any], Any],
    ) -> None:
        self.file = file
        self.find_global = find_global
        self.load_persistent = load_persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """Return the pickled value; the file is then at the pickle's end.

        Raises:
            FileFormatError: the pickle is malformed, or asks for what is not allowed; the message
                names the offset of the opcode.
        """
        for opcode, argument, at in self._opcodes():
            if opcode == "STOP":
                if not self.stack:
                    raise self.file.error(at, "the pickle ends without a value")
                return self.stack.pop()
            try:
                self._execute(opcode, argument)
            except RefusedPickle as error:
                raise self.file.error(at, str(error)) from None
            except IndexError:
                raise self.file.error(at, f"pickle opcode {opcode} finds no value") from None
        raise self.file.error(self.file.tell(), "the pickle does not end")

    def _opcodes(self) -> Iterator[tuple[str, Any, int]]:
        at = self.file.tell()
        try:
            for opcode, argument, position in pickletools.genops(cast("IO[bytes]", self.file)):
                at = at if position is None else position
                yield opcode.name, argument, at
        except (ValueError, OverflowError, EOFError, DeprecationWarning) as error:
            raise self.file.error(self.file.tell(), f"malformed pickle: {error}") from None

    def _execute(self, opcode: str, argument: Any) -> None:
        if opcode in PUSHED_ARGUMENTS:
            self.stack.append(argument)
        elif opcode in TUPLE_SIZES:
            self.stack.append(tuple(self._pop_many(TUPLE_SIZES[opcode])))
        elif opcode not in IGNORED:
            handler = HANDLERS.get(opcode)
            if handler is None:
                raise RefusedPickle(f"pickle opcode {opcode} is not allowed")
            handler(self, argument)

    def _pop(self) -> Any:
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise IndexError
        return self.stack.pop()

    def _pop_many(self, count: int) -> list[Any]:
        return [self._pop() for _ in range(count)][::-1]

    def _pop_to_mark(self) -> list[Any]:
        begin = self.marks.pop()
        values = self.stack[begin:]
        del self.stack[begin:]
        return values

    def _top(self, expected: type, opcode: str) -> Any:
        value = self.stack[-1]
        if not isinstance(value, expected):
            raise RefusedPickle(f"pickle opcode {opcode} expects a {expected.__name__}")
        return value

    def mark(self, _: Any) -> None:
        self.marks.append(len(self.stack))

    def push_none(self, _: Any) -> None:
        self.stack.append(None)

    def push_true(self, _: Any) -> None:
        self.stack.append(True)

    def push_false(self, _: Any) -> None:
        self.stack.append(False)

    def push_list(self, _: Any) -> None:
        self.stack.append([])

    def push_tuple(self, _: Any) -> None:
        self.stack.append(())

    def push_dict(self, _: Any) -> None:
        self.stack.append({})

    def push_set(self, _: Any) -> None:
        self.stack.append(set())

    def collect_list(self, _: Any) -> None:
        self.stack.append(self._pop_to_mark())

    def collect_tuple(self, _: Any) -> None:
        self.stack.append(tuple(self._pop_to_mark()))

    def collect_dict(self, _: Any) -> None:
        target: dict[Any, Any] = {}
        _set_items(target, self._pop_to_mark())
        self.stack.append(target)

    def append(self, _: Any) -> None:
        value = self._pop()
        self._top(list, "APPEND").append(value)

    def extend(self, _: Any) -> None:
        values = self._pop_to_mark()
        self._top(list, "APPENDS").extend(values)

    def add_items(self, _: Any) -> None:
        values = self._pop_to_mark()
        self._top(set, "ADDITEMS").update([checked_key(value) for value in values])

    def set_item(self, _: Any) -> None:
        pair = self._pop_many(2)
        _set_items(self._top(dict, "SETITEM"), pair)

    def set_items(self, _: Any) -> None:
        values = self._pop_to_mark()
        _set_items(self._top(dict, "SETITEMS"), values)

    def pop(self, _: Any) -> None:
        if self.marks and len(self.stack) == self.marks[-1]:
            self.marks.pop()
        else:
            self.stack.pop()

    def pop_mark(self, _: Any) -> None:
        self._pop_to_mark()

    def duplicate(self, _: Any) -> None:
        self.stack.append(self.stack[-1])

    def put(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def memoize(self, _: Any) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def get(self, number: int) -> None:
        if number not in self.memo:
            raise RefusedPickle(f"the pickle has no value number {number}")
        self.stack.append(self.memo[number])

    def push_global(self, words: str) -> None:
        module, _, name = words.partition(" ")
        self.stack.append(self.find_global(module, name))

    def push_stack_global(self, _: Any) -> None:
        module, name = self._pop_many(2)
        if not isinstance(module, str) or not isinstance(name, str):
            raise RefusedPickle("a global's module and name must be strings")
        self.stack.append(self.find_global(module, name))

    def reduce(self, _: Any) -> None:
        function, arguments = self._pop_many(2)
        if not isinstance(function, AllowedFunction):
            raise RefusedPickle("the pickle calls what is no function")
        if not isinstance(arguments, tuple):
            raise RefusedPickle(f"{function.name}: its arguments must be a tuple")
        self.stack.append(function.build(arguments))

    def build(self, _: Any) -> None:
        """Drop the attributes of an OrderedDict: a state dict keeps its version there."""
        self._pop()
        self._top(OrderedDict, "BUILD")

    def push_persistent(self, _: Any) -> None:
        self.stack.append(self.load_persistent(self._pop()))


HANDLERS: dict[str, Callable[[PickleMachine, Any], None]] = {
    "MARK": PickleMachine.mark,
    "NONE": PickleMachine.push_none,
    "NEWTRUE": PickleMachine.push_true,
    "NEWFALSE": PickleMachine.push_false,
    "EMPTY_LIST": PickleMachine.push_list,
    "EMPTY_TUPLE": PickleMachine.push_tuple,
    "EMPTY_DICT": PickleMachine.push_dict,
    "EMPTY_SET": PickleMachine.push_set,
    "LIST": PickleMachine.collect_list,
    "TUPLE": PickleMachine.collect_tuple,
    "DICT": PickleMachine.collect_dict,
    "APPEND": PickleMachine.append,
    "APPENDS": PickleMachine.extend,
    "ADDITEMS": PickleMachine.add_items,
    "SETITEM": PickleMachine.set_item,
    "SETITEMS": PickleMachine.set_items,
    "POP": PickleMachine.pop,
    "POP_MARK": PickleMachine.pop_mark,
    "DUP": PickleMachine.duplicate,
    "PUT": PickleMachine.put,
    "BINPUT": PickleMachine.put,
    "LONG_BINPUT": PickleMachine.put,
    "MEMOIZE": PickleMachine.memoize,
    "GET": PickleMachine.get,
    "BINGET": PickleMachine.get,
    "LONG_BINGET": PickleMachine.get,
    "GLOBAL": PickleMachine.push_global,
    "STACK_GLOBAL": PickleMachine.push_stack_global,
    "REDUCE": PickleMachine.reduce,
    "BUILD": PickleMachine.build,
    "BINPERSID": PickleMachine.push_persistent,
}


def checked_key(value: Any) -> Any:
    """Return a value that may be a key of a dict or in a set; raises RefusedPickle for others."""
    if not isinstance(value, SCALARS):
        raise RefusedPickle(f"a {type(value).__name__} is not allowed as a key")
    return value


def _set_items(target: dict[Any, Any], values: list[Any]) -> None:
    if len(values) % 2:
        raise RefusedPickle("a key has no value")
    for key, value in zip(values[::2], values[1::2], strict=True):
        target[checked_key(key)] = value
