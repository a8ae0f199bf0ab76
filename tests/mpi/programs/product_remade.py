"""A persisted product whose chunks are made again after a death, beside nothing else: has it the same bits?"""

import numpy as np

import windrow as wr
from support.ranks import await_losses, kill_a_rank

draw = wr.random.default_rng(1)
left = draw.random((900, 1200), chunks=(300, 300)).persist()
right = draw.random((1200, 900), chunks=(300, 300)).persist()
made = (left @ right).persist()
wr.wait(left, right, made)
before = made.compute()
kill_a_rank(lambda rows: next(row for row in rows if row["rank"] == 2))
await_losses()
wr.wait(left, right, made)
print(int(np.count_nonzero(made.compute() != before)), (made.owners() != 2).all())
