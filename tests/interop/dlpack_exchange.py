"""Tensors of Cohort in a Python process, exchanged by DLPack as array libraries do: through capsules."""
import ctypes
import os

from support import BUILD

LIBRARY = os.path.join(BUILD, "bin", "tests", "libdlpack_exchange.so")
# The names that capsules have before and after somebody took what is in them, by whether it has a version.
NAMES = {True: (b"dltensor_versioned", b"used_dltensor_versioned"), False: (b"dltensor", b"used_dltensor")}
DEVICE_TYPES = {"CPU": 1, "GPU": 2}

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]

_library = ctypes.CDLL(LIBRARY)
for _name in ("take", "give", "count", "compute", "data"):
    getattr(_library, "exchange_" + _name).restype = ctypes.c_void_p
_library.exchange_error.restype = _library.exchange_describe.restype = ctypes.c_char_p


def _call(name, *arguments):
    result = getattr(_library, "exchange_" + name)(*arguments)
    if not result:
        raise RuntimeError(_library.exchange_error().decode())
    return result


class Tensor:
    """A tensor of Cohort; other libraries see its memory through `from_dlpack`."""

    def __init__(self, handle, versioned=True):
        self._handle = ctypes.c_void_p(handle)
        self.versioned = versioned  # whether it is exported as DLPack 1.0 to whoever knows that

    def __del__(self):
        _library.exchange_drop(self._handle)

    def __dlpack_device__(self):
        kind, index = self.describe().split()[-1].split(":")
        return DEVICE_TYPES[kind], int(index)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        versioned = self.versioned and max_version is not None and max_version[0] >= 1
        managed = _call("give", self._handle, int(versioned))
        # What nobody takes out of the capsule stays in memory: a test that loses one fails elsewhere.
        return _python.PyCapsule_New(managed, NAMES[versioned][0], None)

    def describe(self):
        return _call("describe", self._handle).decode()

    def address(self):
        return _library.exchange_data(self._handle)

    def values(self, size):
        """Its elements, `size` of them, as the host reads them."""
        values = (ctypes.c_double * size)()
        _call("values", self._handle, values)
        return list(values)

    def compute(self):
        """2 x + 1"""
        return Tensor(_call("compute", self._handle))


def count(size, dtype="float32", device="CPU:0"):
    """0, 1, 2, ..., computed on the device."""
    return Tensor(_call("count", device.encode(), dtype.encode(), ctypes.c_longlong(size)))


def take(capsule):
    """What a capsule holds, as a tensor of Cohort."""
    for versioned, (fresh, used) in NAMES.items():
        if _python.PyCapsule_IsValid(capsule, fresh):
            managed = _python.PyCapsule_GetPointer(capsule, fresh)
            _python.PyCapsule_SetName(capsule, used)  # its memory is Cohort's to give back from now on
            return Tensor(_call("take", ctypes.c_void_p(managed), int(versioned)))
    raise ValueError("a capsule of DLPack that nobody took is expected")
