"""Checkpoints in Keras's own format, with one more file in the archive for all else that resuming needs."""

from __future__ import annotations

import importlib
import io
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...graph.errors import ArgumentError, bad
from .models.recipe import custom_objects, name_functions, under_policy

__all__ = ["Progressed", "check_path", "read_checkpoint", "write_checkpoint"]

Values = np.ndarray[Any, Any]
MEMBER = "windrow.npz"


@dataclass(frozen=True)
class Progressed:
    """The progress of training, and the state that only its shards have.

    Attributes
    ----------
    epochs : int
        Epochs done.
    own : numpy.ndarray
        The state that each shard keeps for itself, as a row of bytes; empty if it isn't known.
    speed : list of numpy.ndarray
        The velocity of the outer momentum.
    """

    epochs: int
    own: Values
    speed: list[Values]


def write_checkpoint(model: Any, path: str | Path, done: Progressed) -> None:
    """Write a model to a file ending in ".keras" that Keras can load; written under another name, then renamed."""
    target = check_path("checkpoint", path)
    aside = target.with_name(f".{os.getpid()}-{target.name}")
    try:
        with name_functions(model):
            model.save(aside)
        raw = io.BytesIO()
        arrays: dict[str, Any] = {f"speed{i}": v for i, v in enumerate(done.speed)}
        np.savez(raw, **arrays, epochs=done.epochs, own=done.own)
        with zipfile.ZipFile(aside, "a") as archive:
            archive.writestr(MEMBER, raw.getvalue())
        os.replace(aside, target)
    finally:
        aside.unlink(missing_ok=True)


def read_checkpoint(model: Any, path: str | Path) -> Progressed:
    """Load a checkpoint's weights and optimiser state into a model; return the progress of training."""
    target = check_path("resume", path)
    try:
        with zipfile.ZipFile(target) as archive, np.load(io.BytesIO(archive.read(MEMBER))) as npz:
            speed = [npz[f"speed{i}"] for i in range(len(npz.files) - 2)]
            done = Progressed(int(npz["epochs"]), npz["own"], speed)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ArgumentError(bad("fit", "resume", str(target), "a checkpoint that fit(checkpoint=) wrote")) from error
    scope = importlib.import_module("keras.saving").custom_object_scope
    with name_functions(model), scope(custom_objects(model)), under_policy(model.dtype_policy.name):
        saved = importlib.import_module("keras.models").load_model(target, safe_mode=False)
    mine, theirs = ([v.shape for v in m.variables] for m in (model, saved))
    if mine != theirs or type(model.optimizer) is not type(saved.optimizer):
        expected = "a checkpoint of this model, compiled with the same optimiser"
        raise ArgumentError(bad("fit", "resume", str(target), expected))
    for one, other in (*zip(model.variables, saved.variables, strict=True), *_slots(model, saved)):
        one.assign(other)
    return done


def _slots(model: Any, saved: Any) -> list[tuple[Any, Any]]:
    if not saved.optimizer.built:
        return []
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    return list(zip(model.optimizer.variables, saved.optimizer.variables, strict=True))


def check_path(name: str, path: str | Path) -> Path:
    """Check and return the path of a checkpoint: it ends in ".keras", and its folder exists."""
    checkpoint = Path(path)
    if checkpoint.suffix != ".keras":
        raise ArgumentError(bad("fit", name, str(path), "a path that ends in '.keras'"))
    if not checkpoint.parent.is_dir():
        raise ArgumentError(bad("fit", name, str(path), "a path in a folder that exists"))
    return checkpoint
