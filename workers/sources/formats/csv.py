"""CSV files, cut at ends of rows: ranks look through each part once, and read it again where it is needed.

Lines end as they do for pyarrow, by LF, CR LF or CR, also mixed in one file.

Parts begin where the first row after a multiple of some bytes does. An end of line may lie within quotes: so it is
noted for each part whether it ends within quotes, if it begins outside of them and if it begins within. That tells,
part after part, which ends of line are ends of rows; parts that begin elsewhere are joined with those before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ....graph.errors import FileFormatError
from ..arrow import arrow
from .tables import Columns, TablePieces, describe, read_schema

if TYPE_CHECKING:
    from ..file_arrays import Array
    from .places import FilePlace

WHOLE = 1 << 62
"""Where a part ends that is all the rest of a file."""
_AHEAD = 1 << 16
"""Bytes that are read at once to find the end of a row."""
_END = re.compile(rb"\r\n?|\n")
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}


@dataclass(frozen=True)
class CsvFormat:
    """How rows are written."""

    delimiter: str
    quote: str
    nulls: tuple[str, ...] | None
    null_texts: bool

    def parse(self, raw: bytes, names: Columns, columns: Columns, types: dict[str, Any]) -> Any:
        """Return columns of some rows; of the types that are given, else of those that the texts look like."""
        csv, single = arrow("csv"), len(names) == 1  # where an empty line is a row that has nothing
        if not (raw if single else raw.strip(b"\r\n")):
            return arrow().table({name: arrow().array([], types.get(name, arrow().null())) for name in columns})
        more = {} if self.nulls is None else {"null_values": list(self.nulls)}
        return csv.read_csv(
            arrow().BufferReader(raw),
            csv.ReadOptions(use_threads=False, block_size=min(len(raw) + 1, 2**31 - 1), column_names=list(names)),
            csv.ParseOptions(
                delimiter=self.delimiter,
                quote_char=self.quote or False,
                newlines_in_values=bool(self.quote),
                ignore_empty_lines=not single,
            ),
            csv.ConvertOptions(
                column_types=types, include_columns=list(columns), strings_can_be_null=self.null_texts, **more
            ),
        )

    def header(self, raw: bytes) -> tuple[Columns, int] | None:
        """Return the columns' names in the first row, and where it ends; None where it goes on behind `raw`."""
        begin = len(raw) - len(raw.lstrip(b"\r\n"))
        at = next((m.end() for m in _END.finditer(raw, begin) if not self.ends_inside(raw[: m.end()], False)), 0)
        if not at or (at == len(raw) and raw.endswith(b"\r")):  # what follows may be the other half of its end
            return None
        csv = arrow("csv")
        parse = csv.ParseOptions(delimiter=self.delimiter, quote_char=self.quote or False, newlines_in_values=True)
        return tuple(csv.read_csv(arrow().BufferReader(raw[:at]), parse_options=parse).column_names), at

    def ends_inside(self, raw: bytes, inside: bool) -> bool:
        """Tell whether some rows end within quotes, if they begin so or not."""
        quote = self.quote.encode()
        if not quote or quote not in raw:
            return inside
        quoted, opened, closing = _patterns(self.quote, self.delimiter)
        if inside:
            end = closing.match(raw)
            if end is None:
                return True
            raw = b"x" + raw[end.end() :]
        return opened.search(quoted.sub(b"x", raw)) is not None


@cache
def _patterns(quote: str, delimiter: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]:
    """Return what finds quoted values, quotes that begin one, and the end of one that has begun."""
    q, d = re.escape(quote.encode()), re.escape(delimiter.encode())
    begin, rest = rb"(?<![^" + d + rb"\r\n])" + q, rb"[^" + q + rb"]*+(?:" + q + q + rb"[^" + q + rb"]*+)*+" + q
    return re.compile(begin + rest), re.compile(begin), re.compile(rest)


def packing(place: FilePlace) -> str | None:
    """Return how a file is compressed, as its name tells; None where it isn't."""
    return next((how for ending, how in PACKED.items() if place.path.lower().endswith(ending)), None)


def read_unpacked(place: FilePlace, count: int | None = None) -> bytes:
    """Return what a compressed file holds, or the first bytes of it."""
    try:
        source = arrow().PythonFile(place.stream(), "r")
        with arrow().CompressedInputStream(source, packing(place)) as file:
            unpacked: bytes = file.read(count)
    except (OSError, arrow().ArrowException) as error:
        raise FileFormatError(f"{place.label}: {place.path} can't be unpacked as {packing(place)}: {error}") from error
    return unpacked


def read_beginning(place: FilePlace, count: int) -> bytes:
    """Return the first bytes of a file's text."""
    return place.read_bytes(0, min(count, place.size)) if packing(place) is None else read_unpacked(place, count)


@dataclass(frozen=True, eq=False)
class CsvPieces(TablePieces):
    """Parts of CSV files: `index` has (file, start, stop), where the rows begin and end."""

    form: CsvFormat = CsvFormat(",", '"', None, False)
    names: tuple[Columns, ...] = ()

    def _named(self) -> tuple[Any, ...]:
        return (*super()._named(), self.form, self.names)

    def name(self, number: int) -> str:
        _, start, stop = self.index[number].tolist()
        return f"bytes {start} to {'the end' if stop == WHOLE else stop}"

    def raw(self, number: int) -> bytes:
        """Return the text of a piece."""
        file, start, stop = self.index[number].tolist()
        place = self.places[int(file)]
        if stop == WHOLE:
            return read_unpacked(place)[start:]
        return place.read_bytes(start, stop)

    def load(self, number: int, columns: Columns) -> Any:
        names = self.names[int(self.index[number, 0])]
        types = {name: self.schema.field(name).type for name in columns}
        try:
            return self.form.parse(self.raw(number), names, columns, types)
        except arrow().ArrowInvalid as error:
            place = self.places[int(self.index[number, 0])]
            place.check()
            raise FileFormatError(
                f"{place.label}: {self.name(number)} of {place.path} can't be read: {error}"
            ) from error


@dataclass(frozen=True, eq=False)
class Survey:
    """Parts to look through: `index` has (file, start, stop); `exact` tells whether these are ends of rows already."""

    places: tuple[FilePlace, ...]
    index: Array
    form: CsvFormat
    names: tuple[Columns, ...]
    columns: Columns
    types: bytes
    exact: bool

    def token_key(self) -> tuple[Any, ...]:
        """Name by what is read."""
        files = tuple((p.path, p.size, p.mark) for p in self.places)
        return files, self.index, self.form, self.names, self.columns, self.types, self.exact

    def read(self, number: int) -> tuple[int, int, bytes]:
        """Return where the rows of a part begin and end, and their text."""
        file, start, stop = self.index[number].tolist()
        place = self.places[file]
        if stop == WHOLE:
            return start, stop, read_unpacked(place)[start:]
        if self.exact:
            return start, stop, place.read_bytes(start, stop)
        first = _row_after(place, start) if number and self.index[number - 1, 0] == file else start
        last = _row_after(place, stop) if stop < place.size else stop
        return first, max(first, last), place.read_bytes(first, max(first, last))

    def tell(self, number: int) -> list[int]:
        """Return (begin, end, rows, ends within quotes, and if it begins so; for each column type, nulls, width).

        How it ends if it begins within quotes is only told where no columns are asked for: few files need to know.
        """
        start, stop, raw = self.read(number)
        if not self.columns:  # how it ends is all that is asked for
            return [start, stop, -1, *(int(self.form.ends_inside(raw, inside)) for inside in (False, True))]
        file = int(self.index[number, 0])
        place = self.places[file]
        ends = [int(self.form.ends_inside(raw, False)), 1]
        types = {field.name: field.type for field in read_schema(self.types)}
        try:
            table = self.form.parse(raw, self.names[file], self.columns, types)
        except arrow().ArrowException as error:
            if not self.exact:  # it may begin within quotes
                return [start, stop, -1, *ends, *(0,) * (3 * len(self.columns))]
            place.check()
            raise FileFormatError(
                f"{place.label}: bytes {start} to {stop} of {place.path} can't be read as CSV: {error}"
            ) from error
        place.check()
        parts = [table.column(name) for name in self.columns]
        column_stats = [number for part in parts for number in (_code(part.type), *describe(part))]
        return [start, stop, table.num_rows, *ends, *column_stats]


def _row_after(place: FilePlace, at: int) -> int:
    """Return where the first line begins at or after a place within a file."""
    at -= 1
    while at < place.size:
        raw = place.read_bytes(at, min(at + _AHEAD, place.size))
        line_end = _END.search(raw)
        if line_end is None:
            at += _AHEAD
        elif line_end.end() < len(raw) or line_end[0] != b"\r" or at + len(raw) == place.size:
            return at + line_end.end()
        else:  # the other half of its end may follow
            at += line_end.start()
    return place.size


def known_types() -> list[Any]:
    """Return the types that texts are taken for."""
    a = arrow()
    times = [a.timestamp("s"), a.timestamp("ns"), a.timestamp("s", "UTC"), a.timestamp("ns", "UTC")]
    return [a.null(), a.bool_(), a.int64(), a.float64(), a.date32(), *times, a.time32("s"), a.string(), a.binary()]


def _code(kind: Any) -> int:
    known = known_types()
    return known.index(kind) if kind in known else -1


def join_codes(codes: set[int]) -> Any:
    """Return the type that has what all parts of a column were taken for; that of texts where there is no other."""
    known = known_types()
    null, _, whole, real, day, second, nano = range(7)
    if -1 in codes:
        return known[-2]
    codes = codes - {null} or {null}
    if len(codes) == 1:
        return known[max(codes)]
    if codes == {whole, real}:
        return known[real]
    if codes <= {day, second, nano}:
        return known[max(codes)]
    if codes <= {second + 2, nano + 2}:
        return known[max(codes)]
    return known[-1] if len(known) - 1 in codes else known[-2]
