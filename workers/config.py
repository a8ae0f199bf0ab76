"""Settings: from a file, from the environment, and set for a while in code; the later one wins.

The file is the one that WINDROW_CONFIG names, or else `~/.config/windrow/config.toml`. The environment has a
variable for each setting: WINDROW_CHUNK_BYTES, WINDROW_THREADS and so on.
"""

from __future__ import annotations

import math
import os
import re
import threading
import warnings
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..graph.chunks.normalize import parse_bytes
from ..graph.errors import ArgumentError, WindrowError
from ..graph.keyword_hints import near

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType


class UnknownSetting(UserWarning):
    """A variable that looks like a setting's and is none."""


class ConfigError(WindrowError, ValueError):
    """A setting that isn't known, or a value that it can't take."""


PREFIX = "WINDROW_"
_NO_SETTINGS = ("WINDROW_CONFIG", "WINDROW_RANK")


@dataclass(frozen=True)
class Settings:
    """All settings with their defaults.

    Attributes
    ----------
    chunk_bytes : int
        Bytes of a chunk that `chunks="auto"` aims at. Set it by an integer or text such as "16 MiB".
    ranks : int, "auto" or None
        Ranks of the cluster that is started where none was made; "auto" for one for each four cores, None for the
        embedded engine.
    threads : int or None
        Threads of the embedded engine; None for the cores that the process may use.
    memory : int or None
        Bytes of a rank's arena; None for a share of what the machine or its control group has.
    heartbeat : float
        Seconds of silence after which a rank counts as hung.
    start_limit : float
        Seconds that ranks may take to come together; then the start ends with an error that names who is missing.
    late_limit : float
        Seconds for which ranks that run one script wait for one that is late; then an error names it.
    interface : str or None
        The network interface of MPI, such as "eth0" or "10.0.0.0/8"; None for none between ranks of one host, and what
        MPI finds between hosts.
    transport : str
        How ranks read each other's chunks; "auto" finds out.
    spill_dir : str or None
        Where chunks go that don't fit; None for the system's temporary directory.
    progress : str
        Whether long work shows a progress bar: "auto" (at a terminal, in a notebook), "on", "off".
    warn_gather_bytes : int
        From how many bytes on `np.asarray(x)` warns that it gathers a whole array.
    jit : str
        Compiled kernels: "auto", "on" or "off".
    plans : int
        How many plans are remembered, to be filled in when a graph of the same structure comes; 0 for none.
    full_traceback : bool
        Whether errors show all frames of Windrow's own; else one stands for them.
    """

    chunk_bytes: int = 1 << 24
    ranks: int | str | None = None
    threads: int | None = None
    memory: int | None = None
    heartbeat: float = 30.0
    start_limit: float = 60.0
    late_limit: float = 600.0
    interface: str | None = None
    transport: str = "auto"
    spill_dir: str | None = None
    progress: str = "auto"
    warn_gather_bytes: int = 1 << 30
    jit: str = "auto"
    plans: int = 256
    full_traceback: bool = False


def _list_settings() -> str:
    """Return the settings with their defaults, as `Settings` documents them, for `help(wr.config)`."""
    text = str(Settings.__doc__).partition("Attributes")[2].partition("\n")[2]
    for field in fields(Settings):
        text = re.sub(rf"( {field.name} : .*)", rf"\1 = {field.default!r}", text, count=1)
    return f"\n    Attributes\n{text}"


def _none_or(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None or value in ("", "none", "None", "auto") else read(value)


def _positive_int(value: Any) -> int:
    return _integer(value, 1, "positive integer")


def _count(value: Any) -> int:
    return _integer(value, 0, "integer of 0 or more")


def _integer(value: Any, least: int, what: str) -> int:
    number = math.nan if isinstance(value, bool) else _number(value)
    if not (number >= least and number == number // 1 < math.inf):
        raise ValueError(f"{value!r} is no {what}")
    return int(value) if isinstance(value, int) else int(number)


def _seconds(value: Any) -> float:
    number = math.nan if isinstance(value, bool) else _number(value)
    if not number > 0:
        raise ValueError(f"{value!r} is no positive number of seconds")
    return number


def _number(value: Any) -> float:
    """Return a number; NaN for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        text = {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value
        if text not in choices:
            raise ValueError(f"{value!r} is none of {', '.join(map(repr, choices))}")
        return str(text)

    return read


def _switch(value: Any) -> bool:
    truth_values = {
        "1": True,
        "true": True,
        "on": True,
        "yes": True,
        "0": False,
        "false": False,
        "off": False,
        "no": False,
    }
    if str(value).lower() not in truth_values:
        raise ValueError(f"{value!r} is neither true nor false")
    return truth_values[str(value).lower()]


_READ: dict[str, Callable[[Any], Any]] = {
    "chunk_bytes": parse_bytes,
    "ranks": lambda value: value if value == "auto" else _none_or(_positive_int)(value),
    "threads": _none_or(_positive_int),
    "memory": _none_or(parse_bytes),
    "heartbeat": _seconds,
    "start_limit": _seconds,
    "late_limit": _seconds,
    "interface": _none_or(str),
    "transport": _one_of("auto", "map", "get", "service"),
    "spill_dir": _none_or(lambda value: os.fspath(value)),
    "progress": _one_of("auto", "on", "off"),
    "warn_gather_bytes": parse_bytes,
    "jit": _one_of("auto", "on", "off"),
    "plans": _count,
    "full_traceback": _switch,
}


def _read(source: str, values: Mapping[str, Any]) -> dict[str, Any]:
    settings = {}
    for name, value in values.items():
        if name not in _READ:
            meant = near(name, _READ)
            expected = f"expected one of {', '.join(_READ)}" + (f"; {meant}" if meant else "")
            raise ConfigError(f"{source}: unknown setting {name!r}; {expected}")
        try:
            settings[name] = _READ[name](value)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"{source}: setting {name!r} is {value!r}: {error}") from None
    return settings


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of the file and the environment.

    Parameters
    ----------
    environment : mapping
        Variables; those that begin with WINDROW_ and name a setting count.

    Examples
    --------
    >>> load({"WINDROW_CONFIG": "", "WINDROW_THREADS": "3"}).threads
    3
    """
    settings = Settings()
    named = environment.get("WINDROW_CONFIG")
    path = Path(named) if named else Path("~/.config/windrow/config.toml").expanduser()
    if named and not path.exists():
        raise ConfigError(f"WINDROW_CONFIG: there is no file {named!r}")
    if (named or named is None) and path.exists():
        import tomllib

        try:
            with path.open("rb") as file:
                settings = replace(settings, **_read(str(path), tomllib.load(file)))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path}: {error}") from error
    names = {f"{PREFIX}{field.name.upper()}": field.name for field in fields(Settings)}
    for variable in sorted(v for v in environment if v.startswith(PREFIX) and v not in {*names, *_NO_SETTINGS}):
        import difflib

        close = difflib.get_close_matches(variable.removeprefix(PREFIX), [n.removeprefix(PREFIX) for n in names], 1)
        hint = f"did you mean {PREFIX}{close[0]}?" if close else f"expected one of {', '.join(names)}"
        warnings.warn(
            f"the environment's {variable} is no setting of Windrow and has no effect; {hint}", UnknownSetting, 2
        )
    for variable, name in names.items():
        if variable in environment:
            settings = replace(settings, **_read(variable, {name: environment[variable]}))
    return settings


class Config:
    """The settings in force; read them as attributes, change them by `set`.

    Parameters
    ----------
    **values
        Called, it does as `set` does: ``with config(threads=2): ...``.

    Raises
    ------
    ConfigError
        A file's, a variable's or a given setting is unknown, or has a value that it can't take.
    ArgumentError
        A setting is assigned to, as in ``config.threads = 2``.
    AttributeError
        No setting has the name that is read.

    Examples
    --------
    >>> config = Config()
    >>> with config.set(chunk_bytes="1 MiB"):
    ...     config.chunk_bytes
    1048576
    """

    __doc__ = str(__doc__).rstrip() + "\n" + _list_settings()

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._lock = threading.RLock()

    @property
    def settings(self) -> Settings:
        """All settings as one frozen value."""
        with self._lock:
            if self._settings is None:
                self._settings = load()
            return self._settings

    @property
    def cuts_tracebacks(self) -> bool:
        """Whether Windrow's frames are left out of tracebacks, also where what is wrong is another setting."""
        try:
            return not self.full_traceback
        except ConfigError:
            return True

    def __getattr__(self, name: str) -> Any:
        if name not in _READ:
            raise AttributeError(f"no setting is named {name!r}; expected one of {', '.join(_READ)}")
        return getattr(self.settings, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise ArgumentError(f"config: use config.set({name}=...) to change a setting")
        super().__setattr__(name, value)

    def set(self, **values: Any) -> Setting:
        """Change settings; as a context manager, until its end.

        Parameters
        ----------
        **values
            Settings by name.

        Returns
        -------
        Setting
            A context manager that puts the former values back; without `with` the new ones stay.

        Raises
        ------
        ConfigError
            A setting is unknown, or has a value that it can't take.

        >>> with wr.config.set(chunk_bytes="1 MiB", progress="off"):
        ...     wr.ones(1_000_000).chunksize
        (125000,)
        """
        with self._lock:
            before = self.settings
            changes = _read("config.set", values)
            self._settings = replace(before, **changes)
        return Setting(self, {name: getattr(before, name) for name in changes})

    __call__ = set

    def __repr__(self) -> str:
        return repr(self.settings).replace("Settings(", "Config(", 1)


class Setting:
    """Puts former values back at the end of a `with`."""

    def __init__(self, config: Config, before: dict[str, Any]) -> None:
        self._config, self._before = config, before

    def __enter__(self) -> Config:
        return self._config

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._config.set(**self._before)

    def __repr__(self) -> str:
        before = ", ".join(f"{name}={value!r}" for name, value in self._before.items())
        return f"Setting(before: {before})"


config = Config()
"""The settings in force in this process."""
