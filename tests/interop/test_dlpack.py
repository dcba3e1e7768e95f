"""DLPack: arrays of other libraries become tensors of Cohort and the other way round, without a copy."""
import gc
import os
import weakref

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import numpy as np
import pytest
from dlpack_exchange import count, take

TYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64"]


class Watched(np.ndarray):
    """An array that can be watched to its end: numpy's own have no weak references."""


def watched(values):
    array = np.asarray(values).view(Watched)
    gone = []
    weakref.finalize(array, gone.append, True)
    return array, gone


@pytest.mark.parametrize("max_version", [None, (1, 0)])
@pytest.mark.parametrize("dtype", TYPES)
def test_numpy_s_memory_is_used_and_given_back(dtype, max_version):
    array, gone = watched(np.arange(6).astype(dtype).reshape(2, 3))
    tensor = take(array.__dlpack__(max_version=max_version))
    assert tensor.describe() == f"{dtype}(2, 3) CPU:0"
    assert tensor.address() == array.ctypes.data
    expected = array.astype("float64").ravel().tolist()
    del array
    gc.collect()
    assert not gone, "the tensor holds the memory"
    assert tensor.values(6) == expected
    del tensor
    gc.collect()
    assert gone


@pytest.mark.parametrize("dtype", TYPES)
def test_numpy_reads_a_tensor_s_memory(dtype):
    tensor = count(5, dtype)
    array = np.from_dlpack(tensor)
    assert array.ctypes.data == tensor.address()
    assert array.dtype == dtype and not array.flags.writeable
    del tensor
    gc.collect()
    np.testing.assert_array_equal(array, np.arange(5).astype(dtype))


def test_a_tensor_goes_there_and_back():
    tensor = count(4)
    back = take(np.from_dlpack(tensor).__dlpack__(max_version=(1, 0)))
    assert back.address() == tensor.address()
    np.testing.assert_array_equal(np.from_dlpack(back.compute()), [1, 3, 5, 7])


@pytest.mark.parametrize("view", [lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1, 1:], lambda a: np.broadcast_to(a[0], (3, 4)).copy(order="F")])
def test_other_orders_are_copied(view):
    array = view(np.arange(12, dtype="float32").reshape(3, 4))
    tensor = take(array.__dlpack__(max_version=(1, 0)))
    assert tensor.address() != array.ctypes.data
    np.testing.assert_array_equal(np.from_dlpack(tensor), array)


def test_a_read_only_array_is_taken():
    array = np.arange(3, dtype="int32")
    array.flags.writeable = False
    tensor = take(array.__dlpack__(max_version=(1, 0)))
    assert tensor.address() == array.ctypes.data
    np.testing.assert_array_equal(np.from_dlpack(tensor.compute()), [1, 3, 5])
    np.testing.assert_array_equal(array, [0, 1, 2])


@pytest.mark.parametrize("dtype", ["uint16", "complex64"])
def test_a_type_that_tensors_lack_is_refused_and_given_back(dtype):
    array, gone = watched(np.zeros(3, dtype))
    with pytest.raises(RuntimeError, match=f"from_dlpack: .*dtype={dtype}"):
        take(array.__dlpack__(max_version=(1, 0)))
    del array
    gc.collect()
    assert gone


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int64"])
def test_tensorflow(dtype):
    tf = pytest.importorskip("tensorflow")
    theirs = tf.cast(tf.range(4), dtype)
    ours = take(tf.experimental.dlpack.to_dlpack(theirs))
    assert ours.describe() == f"{dtype}(4,) CPU:0"
    assert ours.values(4) == [0, 1, 2, 3]
    back = tf.experimental.dlpack.from_dlpack(ours.compute().__dlpack__())
    assert back.dtype == dtype
    np.testing.assert_array_equal(tf.cast(back, "float32").numpy(), [1, 3, 5, 7])


@pytest.mark.parametrize("dtype", ["bool", "bfloat16", "float16", "float32", "int64"])
def test_pytorch(dtype):
    torch = pytest.importorskip("torch")
    theirs = torch.arange(6).to(getattr(torch, dtype)).reshape(2, 3)
    ours = take(theirs.__dlpack__())
    assert ours.describe() == f"{dtype}(2, 3) CPU:0"
    assert ours.address() == theirs.data_ptr()
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() and back.dtype == theirs.dtype
    del ours
    gc.collect()
    assert torch.equal(back, theirs)


def test_jax():
    jax = pytest.importorskip("jax")
    theirs = jax.numpy.arange(6.0).reshape(2, 3)
    ours = take(theirs.__dlpack__())
    assert ours.address() == theirs.unsafe_buffer_pointer()
    back = jax.dlpack.from_dlpack(ours)
    np.testing.assert_array_equal(back, theirs)
