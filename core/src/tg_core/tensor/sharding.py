"""The methods of tensors that put them over several devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tg_core.tensor.tensor import Tensor

__all__ = ["ShardingMethods"]


class ShardingMethods:
    """`shard shard_ shard_like`."""

    __slots__ = ()

    grad: Tensor | None

    def shard(self: Tensor, devices: tuple[str, ...], axis: int | None = None) -> Tensor:
        """Return the tensor over several devices: a lazy transfer of a part to each.

        Operations on tensors that are split alike stay on their devices, reductions over the split
        axis combine the devices' results, and operands that are on one device only are an error.

        Args:
            devices: where the parts go, each device once.
            axis: the axis that is split, into parts as equal as they can be (the first ones get one
                element more); None puts all of the tensor on each device.

        Returns:
            A tensor of the same shape and dtype, whose device is the tuple of devices; for one
            device it is `to(device)`.

        Raises:
            DeviceError: no device, one twice, or one that does not exist.
            IndexingError: the tensor has no such axis.
            ShapeError: the axis has a symbolic size.
        """
        from tg_core.tensor.shard_tensors import shard

        return shard(self, devices, axis)

    def shard_(self: Tensor, devices: tuple[str, ...], axis: int | None = None) -> Tensor:
        """Put self over several devices in place, its gradient along; return self.

        Raises:
            DeviceError, IndexingError, ShapeError: as `shard`.
        """
        from tg_core.tensor.writes import rebind

        rebind(self, self.shard(devices, axis).uop)
        if self.grad is not None:
            self.grad = self.grad.shard(devices, axis)
        return self

    def shard_like(self: Tensor, y: Tensor) -> Tensor:
        """Return self placed as `y` is: on its device, or split along the same axis.

        Raises:
            ShapeError: `y` is split and self has another shape.
        """
        from tg_core.tensor.shard_tensors import shard_like

        return shard_like(self, y)
