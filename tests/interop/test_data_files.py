"""Data files of TensorFlow, NumPy and Python's csv are read as they read them; TensorFlow reads the TFRecords of Cohort."""
import csv
import json
import os

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import pytest
import tensorflow as tf
from support import cohort

COMPRESSIONS = ["", "GZIP", "ZLIB"]
INT64 = np.iinfo(np.int64)


def elements(kind, *arguments):
    """Elements as lists of arrays, of strings as lists of bytes."""
    def leaf(told):
        if told["dtype"] == "string":
            return [bytes.fromhex(text) for text in told["values"]]
        return np.array(told["values"], told["dtype"]).reshape(told["shape"])
    return [[leaf(told) for told in json.loads(line)] for line in cohort(kind, *arguments).splitlines()]


def feature(values):
    if isinstance(values[0], bytes):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))
    if isinstance(values[0], float):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


ROWS = [
    {"floats": [0.1, -3e38], "integer": [INT64.min], "bytes": [b"\x00\xff\n"], "sometimes": [2.5], "sequence": [1, -1, INT64.max]},
    {"floats": [1e-45, 0.0], "integer": [INT64.max], "bytes": [b""]},
    {"floats": [1.0, 2.0], "integer": [0], "bytes": [b"x" * 100_000], "sequence": [5], "unwanted": [b"passed by"]},
]


def parsed(serialised):
    return tf.io.parse_example(serialised, {
        "floats": tf.io.FixedLenFeature([2], tf.float32), "integer": tf.io.FixedLenFeature([], tf.int64),
        "bytes": tf.io.FixedLenFeature([], tf.string), "sometimes": tf.io.FixedLenFeature([], tf.float32, -1.0),
        "sequence": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-7)})


def check_against_tensorflow(path, compression):
    """One batch of all records, as both read it; TensorFlow's, for further questions."""
    expected = [parsed(batch) for batch in tf.data.TFRecordDataset(str(path), compression).batch(4)]
    seen = elements("examples", path, compression)
    assert len(seen) == len(expected) > 0
    for ours, theirs in zip(seen, expected):
        for name, values in zip(["floats", "integer", "bytes", "sometimes", "sequence"], ours, strict=True):
            other = theirs[name].numpy()
            if name == "bytes":
                assert values == other.tolist()
            else:
                assert values.dtype == other.dtype
                np.testing.assert_array_equal(values, other, err_msg=name)
    return expected


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_examples_of_tensorflow(tmp_path, compression):
    path = tmp_path / "rows.tfrecord"
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for row in ROWS * 3:
            message = tf.train.Example(features=tf.train.Features(feature={k: feature(v) for k, v in row.items()}))
            writer.write(message.SerializeToString())
    assert len(check_against_tensorflow(path, compression)) == 3


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_tensorflow_reads_examples(tmp_path, compression):
    path = tmp_path / "ours.tfrecord"
    cohort("write_examples", path, compression)
    first, last = check_against_tensorflow(path, compression)
    np.testing.assert_array_equal(first["floats"], np.array([[i / np.float32(3), -i] for i in range(4)], np.float32))
    assert first["integer"].numpy().tolist() == [0, -1, -2, -3]
    assert last["bytes"].numpy().tolist() == [b"\x00\xff4"]
    assert last["sequence"].numpy().tolist() == [[INT64.min + 4] * 4]


def array_of(kind):
    if kind.endswith("b1"):
        return np.array([[True, False, True], [False, False, True]])
    values = np.arange(6).reshape(2, 3) * 3 - (0 if "u" in kind else 7)
    return (values / 4 if "f" in kind else values).astype(kind)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["|b1", "|i1", "|u1", *(end + kind for end in "<>" for kind in
                                                        ["i2", "u2", "i4", "u4", "i8", "f2", "f4", "f8"])])
def test_npy_of_numpy(tmp_path, kind, order):
    array = np.asarray(array_of(kind), order=order)
    np.save(tmp_path / "array.npy", array)
    rows = elements("npy", tmp_path / "array.npy")
    np.testing.assert_array_equal(np.stack([row for (row,) in rows]), array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions_of_npy(tmp_path, version):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    with open(tmp_path / "array.npy", "wb") as file:
        np.lib.format.write_array(file, array, version)
    np.testing.assert_array_equal(np.stack([row for (row,) in elements("npy", tmp_path / "array.npy")]), array)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_of_numpy(tmp_path, save):
    x, y = np.random.default_rng(0).random((50, 7, 3)), np.arange(50, dtype=">i4")
    save(tmp_path / "arrays.npz", x=x, y=y)
    rows = elements("npz", tmp_path / "arrays.npz")
    np.testing.assert_array_equal(np.stack([row[0] for row in rows]), x)
    np.testing.assert_array_equal(np.stack([row[1] for row in rows]), y)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
def test_csv_of_python(tmp_path, quoting, ending):
    texts = ["plain", "with, comma", 'a "quote"', "two\nlines", "", " spaces ", "\u00e4\u2192"]
    numbers = [0.1, -1e300, 5e-324, 1 / 3, 123456789.123456789, -0.0, 2.0**53 + 2]
    integers = [0, -1, INT64.max, INT64.min, 7, "", 10**18]
    with open(tmp_path / "table.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=quoting, lineterminator=ending)
        writer.writerow(["integer", "text", "unused", "number"])
        writer.writerows(zip(integers, texts, range(7), map(repr, numbers), strict=True))
    rows = elements("csv", tmp_path / "table.csv")
    assert [row[0].item() for row in rows] == numbers
    assert [row[1].item() for row in rows] == [-1 if value == "" else value for value in integers]
    assert [row[2][0].decode() for row in rows] == texts
