"""Checkpoints in Keras's own format, with the number of epochs that are done beside the weights."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from ...graph.errors import ArgumentError, bad

__all__ = ["read_checkpoint", "write_checkpoint"]


def _beside(path: Path) -> Path:
    return path.with_suffix(".json")


def write_checkpoint(model: Any, path: str | Path, epochs: int) -> None:
    """Write a model to a file ending in ".keras", and the epochs done to one ending in ".json": aside, then renamed."""
    target = _path("checkpoint", path)
    aside = target.with_name(f".{os.getpid()}-{target.name}")
    model.save(aside)
    note = aside.with_suffix(".json")
    note.write_text(json.dumps({"epochs": epochs}))
    os.replace(aside, target)
    os.replace(note, _beside(target))


def read_checkpoint(model: Any, path: str | Path) -> int:
    """Take a checkpoint's weights and optimiser state into a model; return the number of epochs done."""
    target = _path("resume", path)
    if not target.exists() or not _beside(target).exists():
        raise ArgumentError(bad("fit", "resume", str(target), "a checkpoint: a .keras file with its .json beside it"))
    saved = importlib.import_module("keras.models").load_model(target)
    model.set_weights(saved.get_weights())
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    for mine, theirs in zip(model.optimizer.variables, saved.optimizer.variables, strict=True):
        mine.assign(theirs)
    return int(json.loads(_beside(target).read_text())["epochs"])


def _path(name: str, path: str | Path) -> Path:
    found = Path(path)
    if found.suffix != ".keras":
        raise ArgumentError(bad("fit", name, str(path), "a path that ends in '.keras'"))
    return found
