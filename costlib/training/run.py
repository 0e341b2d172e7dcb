"""What a run costs: FLOPs over what devices reach, in days, device-hours, energy and money."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from costlib.model.catalog import device_of, model_of
from costlib.model.transformer import Transformer
from costlib.training.flops import CONVENTIONS, flops_per_token, mfu, share_of_token
from costlib.units.device import Device
from costlib.units.numbers import Number, amount, choose, is_lazy, is_symbolic, size, suggests

__all__ = ["TrainingRun"]

HOUR = 3600
DAY = 24 * HOUR


@suggests
@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """A training run: tokens through a model on a number of devices, at an MFU.

    ``goodput`` is the share of the time in which steps are made: the rest goes to checkpoints,
    failures and restarts. ``compute`` is the format whose dense peak counts (16 bits unless said).
    Watts and dollars are yours to give.

    >>> from costlib import devices, models
    >>> run = TrainingRun(model=models["llama-2-7b"], tokens=2e12, device=devices["A100-80GB"],
    ...           devices=1024, mfu=0.4, seq=4096)
    >>> round(run.device_hours), round(run.days, 1)
    (190814, 7.8)
    >>> round(run.energy_kwh(watts=400)), round(run.dollars(per_device_hour=2))
    (76326, 381628)
    """

    model: Any  # a Transformer; its name while it is made
    tokens: Number
    device: Any  # a Device; its name while it is made
    devices: Number
    mfu: Number
    seq: Number
    convention: str = "ledger"
    compute: str | None = None
    goodput: Number = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", model_of(self.model))
        object.__setattr__(self, "device", device_of(self.device))
        size("devices", self.devices), size("seq", self.seq), amount("tokens", self.tokens)
        choose("convention", self.convention, tuple(CONVENTIONS))
        for name in ("mfu", "goodput"):
            value = getattr(self, name)
            if isinstance(value, (bool, str)):
                raise TypeError(f"{name} must be a share between 0 and 1, got {value!r}")
            if is_symbolic(value) or is_lazy(value):
                continue
            if not _within(value):
                raise ValueError(f"{name} must be more than 0 and at most 1, got {value}")

    @classmethod
    def measured(
        cls,
        model: Transformer | str,
        device: Device | str,
        *,
        tokens: Number,
        device_hours: Number,
        seq: Number,
        devices: Number = 1,
        convention: str = "ledger",
        compute: str | None = None,
    ) -> TrainingRun:
        """The run that took ``device_hours``, from which its MFU follows.

        >>> from costlib import devices, models
        >>> run = TrainingRun.measured(models["llama-2-7b"], devices["A100-80GB"], tokens=2e12,
        ...                    device_hours=184320, seq=4096)
        >>> round(run.mfu, 3)
        0.414
        """
        rate = amount("tokens", tokens) / (amount("device_hours", device_hours) * HOUR)
        how: dict[str, Any] = {"seq": seq, "convention": convention, "compute": compute}
        reached = mfu(model, device, tokens_per_s=rate, **how)
        return cls(model=model, tokens=tokens, device=device, devices=devices, mfu=reached, **how)

    @property
    def flops(self) -> Any:
        """Model FLOPs of all tokens."""
        return flops_per_token(self.model, self.seq, self.convention) * self.tokens

    @property
    def tokens_per_s(self) -> Any:
        """Tokens a second of all devices, while steps are made."""
        one = share_of_token(
            self.model,
            self.device,
            seq=self.seq,
            devices=self.devices,
            convention=self.convention,
            compute=self.compute,
        )
        return self.mfu / one

    @property
    def seconds(self) -> Any:
        """From beginning to end."""
        return self.tokens / self.tokens_per_s / self.goodput

    @property
    def days(self) -> Any:
        """From beginning to end."""
        return self.seconds / DAY

    @property
    def device_hours(self) -> Any:
        """Hours of all devices together."""
        return self.seconds * self.devices / HOUR

    def energy_kwh(self, *, watts: Number, overhead: Number = 1) -> Any:
        """Kilowatt-hours at ``watts`` per device; ``overhead`` is the data centre's factor."""
        factor = amount("watts", watts) * amount("overhead", overhead, least=1)
        return self.device_hours * factor / 1000

    def dollars(self, *, per_device_hour: Number) -> Any:
        """Dollars for all device-hours, at a price that you give."""
        return self.device_hours * amount("per_device_hour", per_device_hour, least=0)

    def with_(self, **changes: Any) -> TrainingRun:
        """The same run with some of it changed."""
        return replace(self, **changes)


def _within(share: Any) -> bool:
    """More than 0, at most 1, everywhere."""
    inside = (share > 0) & (share <= 1)
    return bool(inside if isinstance(inside, bool) else inside.all())
