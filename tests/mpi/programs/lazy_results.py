"""What tasks return, and dask's nodes take, may be lazy arrays: the same in one process and on ranks."""

import json

import dask
import numpy as np

import windrow as wr


def told(make):
    try:
        value = make()
    except wr.WindrowError as error:
        return [type(error).__name__, str(error)]
    kind = type(value).__name__
    return [kind, np.asarray(value).tolist()]


class Box:
    def __init__(self, array):
        self.array = array


def made(n):
    return wr.from_array(np.arange(n), chunks=3) * 2 + wr.ones(n, chunks=3)


def deep(n):
    x = wr.zeros(3)
    for _ in range(n):
        x = x + 1
    return x


x = wr.arange(10, chunks=3)
first = wr.map(made, [7] * 6)  # named on several ranks
box = dask.delayed(Box(x))
found = {
    "ones": told(wr.submit(wr.ones, 3).result),
    "in a list": told(lambda: wr.submit(lambda: [wr.ones(3), 1]).result()[0]),
    "handed on": told(wr.submit(np.sum, wr.submit(made, 5)).result),
    "together": told(lambda: sum(each.result() for each in first)),
    "others": told(lambda: wr.submit(wr.from_array, np.ones(4)).result() + wr.submit(made, 4).result()),
    "deep": told(wr.submit(deep, 3000).result),
    "delayed": told(wr.delayed(wr.ones)(3).compute),
    "executor": told(wr.Executor().submit(wr.sum, x).result),
    "dask": told(lambda: dask.delayed(np.sum)(x).compute(scheduler=wr.dask.get)),
    "dask's list": told(lambda: dask.delayed(lambda a: a)([x, 1]).compute(scheduler=wr.dask.get)[0]),
    "an object": told(lambda: dask.delayed(lambda b: b.array)(Box(x)).compute(scheduler=wr.dask.get)),
    "taken twice": told(
        lambda: dask.delayed(sum)([dask.delayed(lambda b: b.array)(box), dask.delayed(lambda b: b.array)(box)]).compute(
            scheduler=wr.dask.get
        )
    ),
    "dask's ones": told(lambda: dask.delayed(wr.ones)(3).compute(scheduler=wr.dask.get)),
}
alone = told(wr.submit(lambda: wr.arange(5, chunks=2)[wr.arange(5, chunks=2) > 2]).result)
print(json.dumps([found, alone]))
