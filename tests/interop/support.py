"""Shared by the tests against the real Keras and TensorBoard: runs the C++ side, reads files."""
import os
import subprocess

BUILD = os.environ.get("COHORT_BUILD_DIR", os.path.join(os.path.dirname(__file__), "..", "..", "build"))


def cohort(*arguments):
    """Runs build/bin/tests/interop; its own message is the failure's."""
    done = subprocess.run([os.path.join(BUILD, "bin", "tests", "interop"), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(name):
    """The path of build/bin/<name>, or None where it was not built."""
    path = os.path.join(BUILD, "bin", name)
    return path if os.path.exists(path) else None


def items(file, group):
    return [file[group][str(i)][()] for i in range(len(file[group]))]


def one_or_all(arrays):
    return arrays[0] if len(arrays) == 1 else arrays


def close(seen, expected, atol=1e-5, rtol=1e-4):
    import numpy as np
    assert len(seen) == len(expected)
    for a, b in zip(seen, expected):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=rtol, atol=atol)


def load(path):
    """As keras.saving.load_model; of a legacy file also the optimizer's state, which Keras's loader leaves."""
    import h5py
    import keras
    model = keras.saving.load_model(path)
    if not str(path).endswith(".h5") or getattr(model, "optimizer", None) is None:
        return model
    with h5py.File(path) as file:
        group = file["optimizer_weights"]
        names = [n.decode() if isinstance(n, bytes) else n for n in group.attrs["weight_names"]]
        values = [group[name][()] for name in names]
    optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
    optimizer.build(model.trainable_variables)
    for variable, value in zip(optimizer.variables, values, strict=True):
        variable.assign(value)
    model.optimizer = optimizer
    return model
