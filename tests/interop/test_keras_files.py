"""The real Keras opens what Cohort saves and computes the same; Cohort does so with what Keras saves."""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import pytest
from support import close, cohort, items, load, one_or_all

MODELS = ["sequential", "functional", "recurrent", "operations"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    cohort("save", folder)
    return folder


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("format", ["keras", "h5"])
def test_keras_loads_a_model_and_trains_on(saved, name, format):
    model = load(saved / f"{name}.{format}")
    with h5py.File(saved / f"{name}.io.h5") as io:
        x = one_or_all(items(io, "x"))
        close([model.predict(x, verbose=0)], items(io, "outputs"))
        close([np.array(w) for w in model.weights], items(io, "weights"), atol=0)
        close([np.array(v) for v in model.optimizer.variables], items(io, "optimizer"), atol=0)
        loss = model.train_on_batch(x, io["resume/y/0"][()], return_dict=True)["loss"]
        close([loss], [io["resume/loss"][()]])
        close([np.array(w) for w in model.weights], items(io, "resume/weights"))


@pytest.mark.parametrize("name", MODELS)
def test_keras_loads_weights(saved, name):
    model = keras.saving.load_model(saved / f"{name}.keras", compile=False)
    model.set_weights([np.zeros_like(w) for w in model.get_weights()])
    model.load_weights(saved / f"{name}.weights.h5")
    with h5py.File(saved / f"{name}.io.h5") as io:
        close(model.get_weights(), items(io, "weights"), atol=0)


def stack():
    return keras.Sequential([
        keras.Input((6, 2)), keras.layers.Rescaling(0.5, offset=0.1), keras.layers.Flatten(), keras.layers.Dropout(0.0),
        keras.layers.Dense(8, activation="relu", kernel_regularizer="l2"), keras.layers.Reshape((4, 2)),
        keras.layers.Dense(3, activation="tanh"), keras.layers.Flatten(), keras.layers.Dense(4, activation="softmax")])


def graph():
    inputs = keras.Input((5,))
    shared = keras.layers.Dense(5, activation="sigmoid")
    joined = keras.layers.Concatenate()([shared(inputs), shared(shared(inputs))])
    return keras.Model(inputs, keras.layers.Dense(4, activation="softmax")(keras.layers.Activation("relu")(joined)))


def recurrent():
    layers = keras.layers
    inputs = keras.Input((6, 3))
    both = layers.Bidirectional(layers.LSTM(4, return_sequences=True, return_state=True), merge_mode="sum")(inputs)
    decoded = layers.LSTM(4, return_sequences=True)(both[0], initial_state=both[1:3])
    stacked = layers.RNN([layers.LSTMCell(3), layers.LSTMCell(2), layers.GRUCell(4)], return_sequences=True)(decoded)
    each = layers.TimeDistributed(layers.Dense(5, activation="tanh"))(stacked)
    last = layers.GRU(4)(each, initial_state=both[3])
    return keras.Model(inputs, layers.Dense(4, activation="softmax")(last))


def expressions():
    steps = keras.Input((4, 6))
    x = 2.0 * (steps - 1.0) / 3.0 + np.arange(6, dtype="float32")
    x = keras.layers.MultiHeadAttention(2, 3)(x, keras.ops.sin(x), use_causal_mask=True)
    last, h, c = keras.layers.LSTM(3, return_state=True)(x)
    x = keras.layers.LSTM(3, return_sequences=True)(x[:, ::-1, 1:5], initial_state=[h, c])
    x = keras.ops.concatenate([x[:, -1], last, keras.ops.max(x, axis=1)], axis=-1)
    x = keras.ops.expand_dims(x, 1)[..., 0, :]
    x = keras.ops.tensordot(x, np.eye(9, dtype="float32")[::-1], axes=[[1], [0]])
    x += keras.ops.cast(keras.ops.digitize(steps[:, 0, :1], np.array([-0.5, 0.5], "float32")), "float32")
    return keras.Model(steps, keras.layers.Dense(4, activation="softmax")(keras.ops.maximum(x, -0.5) ** 2))


@pytest.mark.parametrize("make,shape", [(expressions, (4, 6)), (stack, (6, 2)), (graph, (5,)), (recurrent, (6, 3))])
def test_cohort_loads_an_archive_of_keras_and_trains_on(tmp_path, make, shape):
    keras.utils.set_random_seed(5)
    random = np.random.default_rng(5)
    x, y = random.standard_normal((16,) + shape).astype("float32"), random.integers(0, 4, 16).astype("int32")
    model = make()
    # The gradient of attention's key bias is zero but for rounding, which differs between processors: divided by its own
    # size it would move the bias all the same.
    adam = keras.optimizers.Adam(0.01, epsilon=1e-4)
    model.compile(adam, keras.losses.SparseCategoricalCrossentropy(), metrics=["accuracy"])
    model.fit(x, y, epochs=2, batch_size=4, verbose=0)
    model.save(tmp_path / "model.keras")
    outputs = model.predict(x, verbose=0)
    with h5py.File(tmp_path / "io.h5", "w") as io:
        io["x/0"], io["resume/y/0"] = x, y
    loss = model.train_on_batch(x, y, return_dict=True)["loss"]
    cohort("predict", tmp_path / "model.keras", tmp_path / "io.h5", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as out:
        close(items(out, "outputs"), [outputs])
        close([out["resume/loss"][()]], [loss])
        close(items(out, "resume/weights"), model.get_weights())


class Branches(keras.Model):
    """As in interop.cpp: attributes that sort before and after "layers"."""

    def __init__(self):
        super().__init__(name="branches")
        self.second = keras.layers.Dense(2)
        self.first = keras.layers.Dense(3, activation="tanh")
        self._hidden = keras.layers.Dense(2)
        self.inner = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(3)])
        self.Shout = keras.layers.Dense(2)

    def call(self, x):
        return self.Shout(self.inner(self._hidden(self.second(self.first(x)))))


def datasets(path):
    found = []
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.append((name, item.shape)) if isinstance(item, h5py.Dataset) else None)
    return found


def test_a_model_in_code_has_the_same_weights_file(tmp_path):
    keras.utils.set_random_seed(6)
    ours = Branches()
    ours(np.zeros((1, 4), "float32"))
    ours.save_weights(tmp_path / "keras.weights.h5")
    cohort("branches", tmp_path)
    assert datasets(tmp_path / "cohort.weights.h5") == datasets(tmp_path / "keras.weights.h5")
    with h5py.File(tmp_path / "branches.io.h5") as io:
        x = io["x"][()]
        close(ours.get_weights(), items(io, "loaded/weights"), atol=0)
        close([ours(x)], items(io, "loaded/outputs"))
        ours.load_weights(tmp_path / "cohort.weights.h5")
        close(ours.get_weights(), items(io, "saved/weights"), atol=0)
        close([ours(x)], items(io, "saved/outputs"))
