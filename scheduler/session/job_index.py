"""Jobs by the stages that they wait for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...graph.chunks.grid import Index
    from ..ledger.stage_record import StageRecord
    from .job import Job


class Jobs:
    """The jobs under way, and those whose chunks are held; what a stage means to them is found without a search."""

    def __init__(self) -> None:
        self._under_way: dict[Job, None] = {}
        self._targets: dict[str, dict[Job, int]] = {}
        self._watching: dict[str, dict[Job, None]] = {}
        self._watched: dict[Job, list[str]] = {}
        self._ended = 0.0

    def __len__(self) -> int:
        return len(self._under_way)

    def __iter__(self) -> Iterator[Job]:
        return iter(list(self._under_way))

    def __contains__(self, job: object) -> bool:
        return job in self._under_way

    def add(self, job: Job) -> None:
        self._under_way[job] = None
        for number, token in enumerate(job.targets):
            self._targets.setdefault(token, {})[job] = number

    def finish(self, job: Job) -> None:
        """Note that a job is through; what it holds is its own until it is left."""
        if job in self._under_way:
            del self._under_way[job]
            now = time.monotonic()
            job.seconds, self._ended = now - max(job.begun, self._ended), now
        for token in self._watched.pop(job, ()):
            _remove(self._watching, token, job)

    def leave(self, job: Job) -> None:
        self.finish(job)
        for token in job.targets:
            _remove(self._targets, token, job)

    def wanting(self, token: str) -> list[tuple[Job, int]]:
        """Return the jobs under way whose targets have this one, and its number there."""
        return [(job, n) for job, n in self._targets.get(token, {}).items() if job in self._under_way]

    def find_affected(self, dependents: Mapping[StageRecord, Index]) -> list[Job]:
        """Return the jobs that want some of these tasks, under way or not."""
        affected: dict[Job, None] = {}
        for record, tasks in dependents.items():
            token = record.stage.token
            for job in self._targets.get(token, ()):
                if job.results is None or bool(job.claims[token].open[tasks].any()):
                    affected[job] = None
        return list(affected)

    # ---------------------------------------------------------------- progress

    def watch(self, job: Job, records: Mapping[str, StageRecord]) -> None:
        """Count a job's tasks, those of what its targets wait for among them, and go on counting."""
        for token in self._watched.pop(job, ()):
            _remove(self._watching, token, job)
        reached: dict[str, StageRecord] = {}
        tokens, wanted = list(job.targets), set(job.targets)
        while tokens:
            token = tokens.pop()
            record = records.get(token)
            if token not in reached and record is not None and (record.busy or token in wanted):
                reached[token] = record
                tokens.extend(edge.record.stage.token for edge in record.inputs if edge.record.busy)
        job.total = job.done + sum(record.busy for record in reached.values())
        self._watched[job] = list(reached)
        for token in reached:
            self._watching.setdefault(token, {})[job] = None

    def watch_again(self, records: Mapping[str, StageRecord]) -> None:
        """Count anew what the jobs wait for: chunks have been lost."""
        for job in list(self._watched):
            self.watch(job, records)

    def count_stored(self, token: str, tasks: Index) -> None:
        """Tell the jobs that count a stage's tasks."""
        for job in self._watching.get(token, ()):
            job.done += len(tasks)


def _remove(index: dict[str, dict[Job, int]] | dict[str, dict[Job, None]], token: str, job: Job) -> None:
    jobs = index.get(token)
    if jobs is not None:
        jobs.pop(job, None)
        if not jobs:
            del index[token]
