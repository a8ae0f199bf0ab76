"""Writes to a bucket of S3's, reads back, compares; the server's URL is the argument."""

from __future__ import annotations

import sys
import tempfile

import obstore
import pytest
import s3fs
import zarr

import windrow as wr

options = {"endpoint_url": sys.argv[1], "key": "a", "secret": "b"}
url = "s3://bucket/x.zarr"
x = wr.arange(60_000.0, chunks=7000).reshape(60, 1000)
x.to_zarr(url, component="g/x", storage_options=options, chunks=(10, 100), shards=(20, 500))
y = wr.from_zarr(url, "g/x", storage_options=options, chunks=(15, 300))
assert y.expr.op.data.file is not None
wr.testing.assert_equal(y, x)
(x * 2).to_zarr(url, component="g/x", storage_options=options, overwrite=True)
wr.testing.assert_equal(wr.from_zarr(url, "g/x", storage_options=options), x * 2)
with pytest.raises(wr.FileExists, match=r"bucket/x\.zarr"):
    x.to_zarr(url, component="g/x", storage_options=options)
with pytest.raises(wr.MissingFile, match="bucket/none"):
    wr.from_zarr("s3://bucket/none", storage_options=options)
with pytest.raises(wr.FileError, match="nowhere"):
    wr.from_zarr("s3://nowhere/x", storage_options=options)
target = zarr.open(url, path="g/x", storage_options=options, mode="r+")
wr.store(x[:7] * 0, target, regions=(slice(3, 10), slice(None)))
assert (target[3:10] == 0).all()
assert (target[2] == 2 * x[2].compute()).all()
with tempfile.TemporaryDirectory() as folder:
    x.to_hdf5(f"{folder}/x.h5", "x", chunks=(10, 100))
    s3fs.S3FileSystem(**options).put(f"{folder}/x.h5", "bucket/x.h5")
wr.testing.assert_equal(wr.from_hdf5("s3://bucket/x.h5", "x", storage_options=options), x)
bucket = obstore.store.S3Store(
    "bucket",
    prefix="o.zarr",
    endpoint=sys.argv[1],
    access_key_id="a",
    secret_access_key="b",
    region="us-east-1",
    virtual_hosted_style_request=False,
    client_options={"allow_http": True},
)
store = zarr.storage.ObjectStore(bucket)
x.to_zarr(store, component="x", chunks=(10, 100), shards=(20, 500))
wr.testing.assert_equal(wr.from_zarr(store, "x", chunks=(15, 300)), x)
wr.testing.assert_equal(wr.from_zarr("s3://bucket/o.zarr", "x", storage_options=options), x)
print("done")
