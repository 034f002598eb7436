"""What core finds."""

from tg_core.backend import Capability, hookimpl
from tg_planted.faults import planted

TG_HOOK_VERSION = (1, 0)

if planted("heavy discovery"):
    import tg_planted.device
if planted("private import"):
    import tg_planted.private  # noqa: F401


@hookimpl
def tg_register(registry):
    description = "" if planted("no description") else "the interpreter, with a fault"
    renderer = "NoSuchRenderer" if planted("broken reference") else "PlantedRenderer"
    registry.device_type("PLANTED", "tg_planted.device:open_planted", description=description)
    registry.allocator("PLANTED", "tg_planted.memory:PlantedAllocator")
    registry.renderer("PLANTED", "TEXT", f"tg_planted.renderer:{renderer}")
    registry.capability(
        "PLANTED", Capability.PROGRAMS, Capability.HOST_VISIBLE, Capability.TIMESTAMPS
    )
    if planted("empty promise"):
        registry.capability("PLANTED", Capability.HOST_CALL)


@hookimpl
def pm_batch(device):
    return "no matcher" if planted("hook of a wrong type") else None


@hookimpl
def tg_report_header():
    return [1] if planted("header without text") else ["tg-planted"]
