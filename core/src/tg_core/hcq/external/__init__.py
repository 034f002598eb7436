"""What a host program reaches outside of itself: functions of C, their structures, and text.

| file | what it is |
|---|---|
| `c_types` | ctypes descriptions as dtypes and bytes |
| `functions` | calls through pointers |
| `structs` | structures laid out as C has them |
| `fields` | which of their fields are known before the program runs |
| `memory` | the memory behind all of these |
| `program` | host programs of their own, for those that no batch makes |
"""

from tg_core.hcq.external.fields import Field, split_fields
from tg_core.hcq.external.functions import (
    CFunction,
    ccall,
    constant_bytes,
    host_storage,
    provide_functions,
    when,
)
from tg_core.hcq.external.memory import HostMemory
from tg_core.hcq.external.program import HostProgram, number_placeholders
from tg_core.hcq.external.structs import address_of, address_value, cstruct, linked_value

__all__ = [
    "CFunction",
    "Field",
    "HostMemory",
    "HostProgram",
    "address_of",
    "address_value",
    "ccall",
    "constant_bytes",
    "cstruct",
    "host_storage",
    "linked_value",
    "number_placeholders",
    "provide_functions",
    "split_fields",
    "when",
]
