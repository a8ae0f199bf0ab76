"""Blocks that are made tile by tile without Python's lock: to the bit what the interpreter makes, and without it."""

import numpy as np
import pytest

import windrow as wr
from windrow.workers.kernels.compiled.courses import course
from windrow.workers.kernels.compiled.courses.courses import LEAST_ELEMENTS
from windrow.workers.kernels.compiled.llvm import numpy_loops
from windrow.workers.kernels.interpreter.frame import Frame
from windrow.workers.kernels.interpreter.tile_loop import Tiles
from windrow.workers.rank import rank

SHAPES = [
    ((1000, 600), (400, 600)),
    ((3, 300000), (3, 300000)),
    ((60, 50, 90), (60, 50, 90)),
    ((200, 7, 300), (200, 7, 300)),
    ((20000, 20), (20000, 20)),
    ((2, 200000, 2), (2, 200000, 2)),
    ((6, 150000), (6, 150000)),
    ((300001,), (200000,)),
    ((2, 3, 300, 400), (2, 3, 300, 400)),
]
HEADS = ("sum", "mean", "prod", "min", "max", "var", "std")
SOME = ("nansum", "nanmean", "nanmin", "nanmax", "nanvar", "nanstd")


@pytest.fixture
def runs(monkeypatch):
    """Count courses, blocks of the largest, and the tiles that the interpreter makes of blocks that aren't small."""
    found = {"courses": 0, "tiles": 0, "most": 0}
    run, tile = course.Course.run, Tiles.__call__

    def count_course(made, function, places):
        found["courses"] += 1
        found["most"] = max(found["most"], len(places))
        return run(made, function, places)

    def count_tile(tiles, *args):
        found["tiles"] += np.prod(tiles._frame.shape) >= LEAST_ELEMENTS
        return tile(tiles, *args)

    monkeypatch.setattr(course.Course, "run", count_course)
    monkeypatch.setattr(Tiles, "__call__", count_tile)
    return found


def numbers(shape, dtype, holes):
    draw = np.random.default_rng(1)
    x = draw.standard_normal(shape) * 100 + (0 if holes else 5000)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * draw.standard_normal(shape)
    x = x.astype(dtype)
    if holes:
        x.reshape(-1)[[5, 77, 78, 79]] = np.nan, -0.0, 0.0, -0.0
    return x


def compare(runs, make):
    """Compute with compiled loops, by courses alone, and without."""
    with wr.config.set(jit="off"):
        wanted = [np.asarray(x) for x in wr.compute(*make())]
    assert not runs["courses"]
    assert runs["tiles"]
    runs["tiles"] = 0
    with wr.config.set(jit="on"):
        found = [np.asarray(x) for x in wr.compute(*make())]
    assert runs["courses"]
    assert not runs["tiles"]
    for a, b in zip(wanted, found, strict=True):
        assert a.tobytes() == b.tobytes()
    return found


@pytest.mark.parametrize(("shape", "chunks"), SHAPES, ids=[str(s[0]) for s in SHAPES])
@pytest.mark.parametrize("holes", [True, False])
def test_reductions_along_axes_have_the_interpreters_bits(runs, shape, chunks, holes):
    dtype = "f8" if holes == (len(shape) == 3) else "f4"
    a = wr.from_array(numbers(shape, dtype, holes), chunks=chunks).persist()
    axes = [*range(len(shape))] + [(0, 1), (1, 2)] * (len(shape) > 2)
    compare(runs, lambda: [getattr(a, head)(axis=axis) for head in HEADS for axis in axes])
    runs.update(courses=0, tiles=0)
    compare(runs, lambda: [getattr(wr.exp(a / 300), head)() for head in HEADS])
    runs.update(courses=0, tiles=0)
    compare(runs, lambda: [getattr(wr, head)(a, axis=axis) for head in SOME for axis in axes])
    runs.update(courses=0, tiles=0)
    axes = None, *range(len(shape))
    compare(runs, lambda: [getattr(a, head)(axis=axis) for head in ("argmin", "argmax") for axis in axes])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_extremes_of_short_rows(runs, dtype):
    x = np.random.default_rng(1).integers(0, 9, (3, 50_000, 5)).astype(dtype)
    if dtype == "f8":
        x[0, 1:3, 2] = x[0, 2, 4] = np.nan
    a = wr.from_array(x, chunks=(2, 25_000, 5)).persist()
    found = compare(runs, lambda: [a.argmin(axis=2), a.argmax(axis=-1), wr.argmax(a + a, axis=2)])
    np.testing.assert_array_equal(found[0], x.argmin(2))


def test_results_beyond_an_axis_of_one_element(runs):
    a = wr.from_array(numbers((4, 1, 400, 350), "f8", True), chunks=(4, 1, 400, 350)).persist()
    compare(runs, lambda: [getattr(a, head)(axis=(0, 1)) for head in HEADS])
    runs.update(courses=0, tiles=0)
    compare(runs, lambda: [getattr(wr, head)(a, axis=0) for head in (*SOME, *HEADS)])


def test_first_extremes_of_equal_ones(runs):
    draw = np.random.default_rng(1)
    x = draw.integers(0, 7, (500, 300)).astype("i4")
    for dtype in ("i4", "u8", "f8"):
        a = wr.from_array(x.astype(dtype), chunks=(250, 300)).persist()
        runs.update(courses=0, tiles=0)
        found = compare(runs, lambda a=a: [a.argmin(axis=0), a.argmax(axis=1), a.argmax(), a.argmin()])
        for one, wanted in zip(found, [x.argmin(0), x.argmax(1), x.argmax(), x.argmin()], strict=True):
            np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
def test_functions_have_the_interpreters_bits(runs, dtype):
    a = wr.from_array(numbers((500, 700), dtype, True), chunks=(300, 700)).persist()
    made = [wr.exp(a / 300), wr.sin(a) * 2 + 1, wr.tanh(a) - a, wr.sqrt(a) * wr.log(abs(a) + 1), (a * 1.5) ** 1.5]
    if dtype.startswith("c"):
        made += [a * a + 1, abs(a), (a * 2).real, wr.exp(a.imag) * 2, a.conj() + a]
    for each in made:
        runs.update(courses=0, tiles=0)
        compare(runs, lambda each=each: [each, each.sum(), each.sum(axis=0), each.mean(axis=1)])


def test_inputs_in_several_orders_stay_in_their_places(runs):
    a, b = numbers((200, 300), "f8", False).T, numbers((300, 200), "f8", False)

    def make():
        x, y = wr.from_array(a), wr.from_array(b)
        return [(x - y).persist(), (y / x).persist(), (x - y).sum(), (y - x * 2).max(axis=0)]

    found = compare(runs, make)
    np.testing.assert_array_equal(found[0], a - b)
    np.testing.assert_array_equal(found[1], b / a)


def test_inputs_in_another_order_are_turned_tile_by_tile(runs):
    x = numbers((800, 800), "f8", True)
    square = wr.from_array(x, chunks=400).persist()
    cut = wr.from_array(x, chunks=(800, 320))  # its rows lie apart in the user's memory
    made = [(square + square.T).mean(), square * 2 + square.T, wr.exp(square.T), square.T.std(axis=1), wr.exp(cut)]
    for each in made:
        runs.update(courses=0, tiles=0)
        with wr.config.set(jit="off"):
            wanted = np.asarray(each)
        runs["courses"] = runs["tiles"] = 0
        with wr.config.set(jit="on"):
            found = np.asarray(each)
        assert wanted.tobytes() == found.tobytes()
        assert runs["courses"]
        assert not runs["tiles"]


def test_several_reductions_of_one_read(runs):
    a = wr.from_array(numbers((900, 700), "f8", True), chunks=(300, 700)).persist()
    together = [a.mean(axis=0), a.std(axis=0), a.min(axis=0), a.max(axis=0)]
    compare(runs, lambda: together)


def test_what_lies_otherwise_is_left_to_the_interpreter(runs):
    x = numbers((400, 900), "f8", True)
    a = wr.from_array(x[:, ::-1], chunks=(400, 900))
    with wr.config.set(jit="on"):
        np.testing.assert_array_equal(np.asarray(wr.exp(a / 100)), np.exp(x[:, ::-1] / 100))
    assert runs["tiles"]


@pytest.mark.parametrize("shape", [(131_072, 1), (400, 600), (60, 50, 90)], ids=str)
def test_one_number_for_all_is_left_to_the_interpreter(shape):
    x = wr.full(shape, 2.5)
    results = wr.compute(x.sum(axis=-1), x.max(axis=0), x.std(axis=-1), x.argmin(axis=0), x.sum(), x.persist())
    full = np.full(shape, 2.5)
    wanted = full.sum(axis=-1), full.max(axis=0), full.std(axis=-1), full.argmin(axis=0), full.sum(), full
    for a, b in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["add", "exp", "power", "minimum", "isnan", "absolute"])
def test_loops_of_numpy_are_tried_before_they_are_used(name, monkeypatch):
    dtypes = np.dtype(float), *(np.dtype(float),) * (getattr(np, name).nin - 1)
    dtypes = *dtypes, np.dtype(bool if name == "isnan" else float)
    assert numpy_loops.loop_of(name, dtypes) is not None
    numpy_loops.loop_of.cache_clear()
    monkeypatch.setattr(numpy_loops, "_agrees", lambda *args: False)
    try:
        assert numpy_loops.loop_of(name, dtypes) is None
    finally:
        numpy_loops.loop_of.cache_clear()


def test_small_blocks_make_no_course(runs):
    a = wr.from_array(np.arange(100.0), chunks=50)
    with wr.config.set(jit="on"):
        np.testing.assert_array_equal(np.asarray(wr.exp(a / 100)), np.exp(np.arange(100.0) / 100))
    assert not runs["courses"]


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((400001,), 300001),
        ((600, 500), (300, 500)),
        ((40, 10000), (20, 5000)),
        ((300, 602), (300, 301)),
        ((400, 500, 2), (400, 500, 1)),
        ((400, 300, 5), (400, 300, 2)),
        ((6, 1, 400, 350), (3, 1, 400, 350)),
        ((2, 3, 400, 350), (1, 3, 400, 350)),
    ],
)
def test_random_numbers_are_drawn_tile_by_tile(runs, shape, chunks):
    dtypes = {"standard_normal": ("f8", "f4"), "random": ("f8", "f4")}
    for skipped in (0, 3):  # runs begin within four draws
        made = []
        draw = wr.random.default_rng(1)
        draw.random(skipped)
        for kind, some in dtypes.items():
            made += [getattr(draw, kind)(size=shape, chunks=chunks, dtype=dtype) for dtype in some]
        made += [draw.normal(2, 3, shape, chunks=chunks), draw.uniform(2, 3, shape, chunks=chunks)]
        made += [draw.standard_exponential(shape, chunks=chunks), draw.exponential(3, shape, chunks=chunks)]
        made += [draw.integers(-300, 1 << 40, shape, chunks=chunks), draw.integers(-3, 9, shape, "i1", chunks=chunks)]
        made += [draw.integers(0, 1 << 64, shape, "u8", chunks=chunks), draw.integers(0, 2, shape, "u2", chunks=chunks)]
        for each in made:
            runs.update(courses=0, tiles=0)
            with wr.config.set(jit="off"):
                wanted = [np.asarray(x) for x in wr.compute(each, each.sum(), each.std(axis=0))]
            runs["courses"] = 0
            with wr.config.set(jit="on"):
                found = [np.asarray(x) for x in wr.compute(each, each.sum(), each.std(axis=0))]
            assert [a.tobytes() for a in wanted] == [a.tobytes() for a in found]
            assert runs["courses"]


def test_parts_of_random_numbers_are_drawn_tile_by_tile(runs):
    def make():
        draw = wr.random.default_rng(1)
        a, b = (draw.random((1200, 1000), chunks=(400, 500)) for _ in range(2))
        n = draw.standard_normal((3, 400, 500), chunks=(1, 400, 500))
        return [(a[1:, 1:] - b[:-1, :-1]).sum(axis=0), a[3:].sum(axis=0), (n[1:] - n[:-1]).std(), n[1]]

    compare(runs, make)


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((1200, 1000), (400, 1000)),
        ((250_000, 10), (125_000, 10)),
        ((40, 300, 200), (20, 300, 200)),
        ((9, 90_000), (3, 90_000)),
    ],
)
def test_rows_that_are_broadcast_need_no_interpreter(runs, shape, chunks):
    a = wr.from_array(numbers(shape, "f8", True), chunks=chunks).persist()
    row, factor = (wr.from_array(numbers(shape[1:], dtype, False)).persist() for dtype in ("f8", "f4"))

    def make():
        made = [(a - row) / factor, (abs(a) * row).sum(axis=0), (row - a).argmin(axis=-1), wr.exp(a / row).std()]
        return [*made, a - row + a, (factor + a) * 2 - row]

    compare(runs, make)


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((2, 100_000), (1, 100_000)),
        ((4, 400, 350), (1, 400, 350)),
        ((1, 400, 350), (1, 400, 350)),
        ((3, 400, 350, 1), (1, 400, 350, 1)),
        ((200_000, 1), (100_000, 1)),
        ((4, 1, 400, 350), (2, 1, 400, 350)),
    ],
)
def test_inputs_that_are_broadcast_to_blocks_of_one_row_or_column(shape, chunks):
    a = wr.from_array(numbers(shape, "f8", True), chunks=chunks).persist()
    others = [wr.from_array(numbers(s, "f8", False)).persist() for s in (shape[1:], (*shape[:-1], 1), shape[-1:])]

    def make():
        return [y for b in others for y in ((a - b).sum(axis=0), (a - b) * 2, (b + a).argmin(axis=-1), (a * b).std())]

    wanted, found = [], []
    for jit, results in (("off", wanted), ("on", found)):
        with wr.config.set(jit=jit):
            results += [np.asarray(x).tobytes() for x in wr.compute(*make())]
    assert wanted == found


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
def test_one_value_everywhere_beside_functions(dtype):
    a = wr.from_array(numbers((2, 150_000), "f8", False) / 6000, chunks=(1, 150_000)).persist()
    drawn = wr.random.default_rng(3).random((2, 150_000), chunks=(1, 150_000))

    def make():
        full = wr.full((2, 150_000), 3, dtype, chunks=(1, 150_000))
        made = [
            full + wr.exp(a) * 2,
            (full + wr.exp(drawn)).sum(axis=1),
            wr.full((2, 150_000), 3, dtype) - a * wr.log(drawn),
        ]
        return [*made, (a / full * wr.exp(full)).max()]

    wanted, found = [], []
    for jit, results in (("off", wanted), ("on", found)):
        with wr.config.set(jit=jit):
            results += [np.asarray(x).tobytes() for x in wr.compute(*make())]
    assert wanted == found


@pytest.mark.parametrize("shape", [(200_000, 4), (4, 200_000), (300, 400)])
def test_what_is_generated_and_broadcast(shape):
    a = wr.from_array(numbers(shape, "f8", True), chunks=shape).persist()

    def make():
        made = [wr.ones(shape[1:]), wr.full((shape[0], 1), 3.0), wr.arange(float(shape[1]))]
        made.append(wr.random.default_rng(1).random(shape[1:]))
        return [y for b in made for y in ((a - b) * 2 + b, (b + a).sum(axis=0), (a * b + a).max())]

    wanted, found = [], []
    for jit, results in (("off", wanted), ("on", found)):
        with wr.config.set(jit=jit):
            results += [np.asarray(x).tobytes() for x in wr.compute(*make())]
    assert wanted == found


@pytest.mark.parametrize(
    ("shape", "chunks"), [((1200, 1000), (400, 1000)), ((40, 300, 200), (20, 300, 200)), ((500_000, 20), (250_000, 20))]
)
def test_elements_that_rows_share_need_no_interpreter(runs, shape, chunks):
    a = wr.from_array(numbers(shape, "f8", True), chunks=chunks).persist()
    column = wr.from_array(numbers((*shape[:-1], 1), "f8", False), chunks=(*chunks[:-1], 1)).persist()
    compare(
        runs, lambda: [a - column, (a / column).max(axis=0), (a * 2 - column) * a, wr.sqrt(column * column + a * a)]
    )


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((1200, 1000), (400, 500)),
        ((2, 600, 700), (1, 300, 350)),
        ((40, 300, 200), (20, 150, 200)),
        ((9, 90_000), (3, 30_000)),
    ],
)
def test_results_whose_rows_lie_apart_are_made_without_the_interpreter(runs, shape, chunks):
    a = wr.from_array(numbers(shape, "f8", True), chunks=chunks).persist()
    still = wr.broadcast_to(a[:1], shape).rechunk(chunks).persist()

    def make():
        draw = wr.random.default_rng(1)
        made = [2 * a + 1 - a * a, wr.exp(a), a > 0, (a + still).astype("f4")]
        return [*made, draw.random(shape, chunks=chunks), draw.standard_normal(shape, "f4", chunks=chunks)]

    compare(runs, make)


def test_integers_and_exponentials_are_made_without_the_interpreter(runs):
    def make():
        draw = wr.random.default_rng(1)
        return [
            draw.integers(-5, 1000, 600_000, chunks=300_000).sum(),
            draw.integers(0, 1 << 63, (600, 1000), "u8", chunks=(300, 500)).max(axis=0),
            draw.exponential(2, 600_000, chunks=300_000).sum(),
        ]

    compare(runs, make)


def test_comparisons_with_numbers_that_a_dtype_does_not_hold():
    a = (np.arange(600_000) % 200).astype("u1")
    with wr.config.set(jit="on"):
        x = wr.asarray(a)
        np.testing.assert_array_equal((x * x == -2).compute(), a * a == -2)
        np.testing.assert_array_equal(((x != -1) & (x + 1 < 256)).compute(), np.ones(600_000, bool))


def test_integers_to_negative_powers_raise_numpys_error():
    x = wr.asarray(np.arange(1, 600_001, dtype="i4"))
    with wr.config.set(jit="on"), pytest.raises(ValueError, match="negative integer powers"):
        (wr.power(wr.abs(x), wr.asarray(np.full(600_000, -2, "i4"))) * -1).compute()


def test_blocks_of_one_shape_go_in_one_call(runs):
    """A batch has several; what Python does for each call takes about as long as the half of a block."""
    x = numbers((1500, 1500), "f8", False)
    with wr.Cluster(threads=1):
        a = wr.from_array(x, chunks=300).persist()  # 25 blocks
        lies = wr.from_array(x, chunks=300)
        for make in (
            lambda: [a.min()],
            lambda: [lies.std(axis=0)],
            lambda: [(a * 2 + 1).sum()],
            lambda: [wr.exp(a / 9000).persist()],
            lambda: [(lies - 1).persist()],
            lambda: [a.argmax(), a.max(axis=1)],
            lambda: [(a + a.T).mean()],
            lambda: [wr.random.default_rng(1).standard_normal((1500, 1500), chunks=300).sum(axis=1)],
        ):
            runs.update(courses=0, tiles=0, most=0)
            compare(runs, make)
            assert runs["most"] >= 5


def test_blocks_that_lie_otherwise_go_one_by_one(runs):
    """Parts of rows of other lengths: equal blocks whose inputs' rows are not equally far apart."""
    x = numbers((600, 1400), "f8", False)
    with wr.Cluster(threads=1):
        a = wr.from_array(x, chunks=(300, (450, 350, 600))).persist()
        b = a.rechunk((300, (350, 350, 350, 350)))
        found = compare(runs, lambda: [b.std(axis=0), b.max(), (b * 2).sum()])
    np.testing.assert_array_equal(found[1], x.max())


def test_blocks_whose_places_are_not_evenly_apart_go_together(runs, monkeypatch):
    """Small ones and large ones, what a user's function returns, and what is only moved."""
    x = numbers((1200, 1200), "f8", False)
    together = []
    store, apart = Frame.store, rank.spacing

    def note(frame, out):
        together.append(len(frame.blocks) if isinstance(out, list) else 0)
        return store(frame, out)

    monkeypatch.setattr(Frame, "store", note)
    monkeypatch.setattr(rank, "spacing", lambda numbers: 1 if apart(numbers) == 1 else None)
    with wr.Cluster(threads=1), wr.config.set(jit="on"):
        for chunks in (60, 300):
            a = wr.from_array(x, chunks=chunks).persist()
            np.testing.assert_array_equal((a * 2 + 1).persist(), x * 2 + 1)
            np.testing.assert_array_equal(wr.exp(a / 9000).persist(), np.exp(x / 9000))
            np.testing.assert_array_equal(a.T.persist(), x.T)
            np.testing.assert_array_equal(a.rechunk(chunks - 7).persist(), x)
            np.testing.assert_array_equal((a[1:] - a[:-1]).persist(), x[1:] - x[:-1])
            np.testing.assert_allclose((a @ a).persist(), x @ x)
            np.testing.assert_array_equal(a.min(axis=0).persist(), x.min(axis=0))
            assert not any(together)
            np.testing.assert_array_equal(a.map_blocks(np.negative).persist(), -x)
            assert (max(together) > 1) == (chunks == 60)
            together.clear()
            np.testing.assert_array_equal((a.map_blocks(np.negative) + a.map_blocks(np.square)).persist(), x * x - x)
            together.clear()


@pytest.mark.parametrize("chunks", [60, 300])
def test_a_function_that_fails_for_one_of_several_blocks_names_it(chunks):
    a = wr.ones((1200, 1200), chunks=chunks).persist()
    with pytest.raises(ZeroDivisionError) as raised:
        a.map_blocks(fail_at, dtype=float).persist().compute()
    assert "(1, 1)" in str(raised.value.__notes__) or "(1, 1)" in str(raised.value)


def fail_at(block, block_id=None):
    if block_id == (1, 1):
        raise ZeroDivisionError(str(block_id))
    return block
