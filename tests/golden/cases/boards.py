"""Logs of the TensorBoard callback with options and models that the common fixtures leave out."""
import keras
import numpy as np
from keras import layers as L
from keras import losses, optimizers

from spec import Board


def table(rng, rows=24, val=8, features=5, classes=3):
    def part(n):
        return rng.standard_normal((n, features)).astype("float32"), rng.integers(0, classes, n).astype("int32")
    x, y = part(rows)
    return dict(x=x, y=y, val=part(val))


def pictures(rng):
    def part(n):
        return rng.standard_normal((n, 6, 6, 3)).astype("float32"), rng.integers(0, 3, n).astype("int32")
    x, y = part(12)
    return dict(x=x, y=y, val=part(6))


def words(rng):
    def part(n):
        return rng.integers(0, 9, (n, 6)).astype("int32"), rng.integers(0, 3, n).astype("int32")
    x, y = part(20)
    return dict(x=x, y=y, val=part(5))


def pairs(rng):
    def part(n):
        return ([rng.standard_normal((n, 4)).astype("float32"), rng.standard_normal((n, 2)).astype("float32")],
                [rng.standard_normal((n, 1)).astype("float32"), rng.standard_normal((n, 2)).astype("float32")])
    x, y = part(20)
    return dict(x=x, y=y, val=part(6))


def dense():
    return keras.Sequential([keras.Input((5,)), L.Dense(6, activation="tanh"), L.Dense(3)], name="stack")


def filters():
    """Kernels of every rank: images of filters, RGB and RGBA ones, and some that cannot be drawn."""
    image = keras.Input((6, 6, 3))
    x = L.Conv2D(4, 3, name="four")(image)
    x = L.Conv2D(1, 2, name="one")(x)
    x = L.Conv2D(5, 2, name="five")(x)
    x = L.Reshape((4, 5))(x)
    x = L.Conv1D(3, 2, padding="same", name="line")(x)
    return keras.Model(image, L.Dense(3)(L.Flatten()(x)))


def reading():
    return keras.Sequential([keras.Input((6,), dtype="int32"), L.Embedding(9, 4, name="words"), L.LSTM(3), L.Dense(3)])


def two_ends():
    a, b = keras.Input((4,), name="a"), keras.Input((2,), name="b")
    x = L.Concatenate()([a, b])
    x = L.Dense(4, activation="relu", kernel_initializer="ones", bias_initializer="ones", name="shared")(x)
    return keras.Model([a, b], [L.Dense(1, name="left")(x), L.Dense(2, name="right")(x)])


def classes(optimizer=lambda: optimizers.SGD(0.05), **kw):
    return lambda: dict(optimizer=optimizer(), loss=losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"], **kw)


def regressions():
    return dict(optimizer=optimizers.RMSprop(0.01), loss=["mse", "mae"], metrics=[["mae"], ["mse"]])


decay = lambda: optimizers.Adam(optimizers.schedules.ExponentialDecay(0.05, 2, 0.5))
scaled = lambda: optimizers.LossScaleOptimizer(optimizers.SGD(0.02, momentum=0.9))

TENSORBOARD = [
    Board("defaults", dense, table, classes(), {}),
    Board("filters", filters, pictures, classes(), dict(histogram_freq=1, write_images=True), epochs=1, batch_size=4),
    Board("words", reading, words, classes(), dict(histogram_freq=2, write_images=True, embeddings_freq=1, embeddings_metadata="labels.tsv"), epochs=3),
    Board("ends", two_ends, pairs, regressions, dict(histogram_freq=1, write_graph=False, update_freq="batch"), batch_size=6),
    Board("executions", dense, table, classes(steps_per_execution=2), dict(update_freq=2, write_steps_per_second=True), epochs=3, batch_size=4),
    Board("never", dense, table, classes(), dict(update_freq=100, histogram_freq=1)),
    Board("decay", dense, table, classes(decay), dict(write_steps_per_second=True, update_freq=1), batch_size=7),
    Board("scaled", dense, table, classes(scaled), dict(update_freq=3), epochs=4, batch_size=5),
    Board("profiled", dense, table, classes(), dict(profile_batch=[2, 4], update_freq="epoch")),
    Board("profiled_one", dense, table, classes(), dict(profile_batch=1, write_graph=False, update_freq=2)),
]
