from tg_core.uop.ops import UOp


def choose_opts(sink: UOp, renderer: object) -> tuple:
    return ()
