"""Machine code of compiled kernels: made by LLVM, kept on disk, loaded into the process.

LLVM comes with llvmlite, which numba brings; numba itself isn't imported (it takes 0.2 s and the GIL).
Compiling takes some ten milliseconds and leaves the GIL to others.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import stat
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import lru_cache
from pathlib import Path
from typing import Any

from ....forks import hold_while_forking

Native = Callable[..., None]
_log = logging.getLogger("windrow")
_lock = threading.Lock()
_engines: list[Any] = []


hold_while_forking(_lock)


def compile_text(text: str, entry: str, inputs: int) -> Native:
    """Return the function `entry` of a text, which takes so many inputs, then as in `compile_fused`.

    Raises
    ------
    ImportError
        Without llvmlite.
    RuntimeError
        When LLVM doesn't take the text.
    """
    return _function(load(text, [entry])[entry], inputs)


def kept_function(text: str, entry: str, inputs: int) -> Native | None:
    """Return the function `entry` of a text whose machine code is kept on disk; None where it isn't."""
    with _lock:
        name = _llvm()[2]
        code = _read(cache_folder(), _digest(name, text))
        return None if code is None else _function(_link(code, [entry])[entry], inputs)


def _function(address: int, inputs: int) -> Native:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (inputs + 2), *[ctypes.c_int64] * 4)(address)


def load(text: str, entries: list[str]) -> dict[str, int]:
    """Return the addresses of some functions of a text.

    An interrupt amid LLVM's calls would leave its objects half made, so the main thread has another one do it.

    Raises
    ------
    ImportError
        Without llvmlite.
    RuntimeError
        When LLVM doesn't take the text.
    """
    if threading.current_thread() is not threading.main_thread():
        return _load(text, entries)
    future: Future[dict[str, int]] = Future()

    def act() -> None:
        try:
            future.set_result(_load(text, entries))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=act, name="windrow-compile", daemon=False).start()
    return future.result()


def _load(text: str, entries: list[str]) -> dict[str, int]:
    with _lock:
        llvm, target, name = _llvm()
        digest, folder = _digest(name, text), cache_folder()
        code = _read(folder, digest)
        if code is None:
            code = _compile(llvm, target, text)
            _write(folder, digest, code)
        return _link(code, entries)


def _digest(name: str, text: str) -> str:
    return hashlib.sha256("\0".join([name, text]).encode()).hexdigest()


def _link(code: bytes, entries: list[str]) -> dict[str, int]:
    """Load machine code into the process; return where its functions lie."""
    llvm, target, _ = _llvm()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    addresses = {entry: engine.get_function_address(entry) for entry in entries}
    for entry, address in addresses.items():
        if not address:
            raise RuntimeError(f"compiled code has no function {entry!r}")
    return addresses


@lru_cache(maxsize=1)
def _llvm() -> tuple[Any, Any, str]:
    """Return LLVM's binding, the machine, and a name that tells versions and machines apart."""
    import llvmlite
    import llvmlite.binding as llvm

    if llvm.llvm_version_info[0] < 17:  # before, a text's pointers had types
        raise ImportError(f"llvmlite {llvmlite.__version__} is too old, 0.45 is needed")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=3, jit=True)
    parts = [llvmlite.__version__, str(llvm.llvm_version_info), target.triple, cpu, features]
    return llvm, target, "\0".join(parts)


def _compile(llvm: Any, target: Any, text: str) -> bytes:
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = target.emit_object(module)
    return code


@lru_cache(maxsize=1)
def cache_folder() -> Path | None:
    """Return the folder of compiled kernels, which is this user's alone; None where there can't be one."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(home).expanduser() / "windrow" / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder_stat = folder.stat()
        if folder_stat.st_uid != os.getuid() or stat.S_IMODE(folder_stat.st_mode) & 0o077:
            raise PermissionError(f"{folder} is open to others")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"{folder} can't be written")
    except (OSError, RuntimeError) as error:
        _log.debug("compiled kernels aren't kept on disk: %s", error)
        return None
    return folder


def _read(folder: Path | None, digest: str) -> bytes | None:
    if folder is None:
        return None
    try:
        file = folder / f"{digest}.o"
        if not file.is_file():
            return None
        data = file.read_bytes()
    except OSError:
        return None
    # What was cut short or damaged is compiled again.
    return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None


def _write(folder: Path | None, digest: str, code: bytes) -> None:
    """Write aside and rename: several ranks may do it at once."""
    if folder is None:
        return
    import tempfile

    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
            file.write(hashlib.sha256(code).digest() + code)
        try:
            os.replace(file.name, folder / f"{digest}.o")
        except OSError:
            os.unlink(file.name)
            raise
    except OSError as error:
        _log.debug("a compiled kernel isn't kept on disk: %s", error)
