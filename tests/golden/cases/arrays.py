"""Arguments that are arrays or several axes where one number is usual, layers in the
place of activations, inputs whose batch is fixed or missing, and slices of a row that come twice."""
import keras
import numpy as np
from keras import initializers, layers as L, losses, metrics, optimizers

from spec import Init, Layer, Loss, Metric, Train, given, ids, u, x

STATS = OPTIMIZERS = SCHEDULES = REGULARIZERS = SAVED = CALLBACKS = TENSORBOARD = []


def nothing(layer, rng):
    return None


LAYERS = [
    Layer("axes", lambda: L.Normalization(axis=(1, 2), mean=[[1, 2, 3], [4, 5, 6]], variance=[[1.0, 2.0, 3.0], [4.0, 5.0, 0.5]]),
          x(3, 2, 3), prepare=nothing),
    Layer("scalars", lambda: L.Normalization(axis=-1, mean=2.0, variance=3.0, invert=True), x(3, 4), prepare=nothing),
    Layer("fixed_batch", lambda: L.TimeDistributed(keras.Sequential([L.Dense(3), L.Activation("tanh")])), x(2, 3, 4)),
    Layer("one_image", lambda: L.CenterCrop(3, 2), u(5, 6, 2)),
    Layer("one_image", lambda: L.RandomCrop(3, 4), u(6, 7, 3)),
    Layer("one_axis", lambda: L.StringLookup(vocabulary=["ant", "bee"], output_mode="multi_hot"), given(["bee", "cat", "bee"]),
          prepare=nothing),
    Layer("one_axis", lambda: L.IntegerLookup(vocabulary=[4, 2], output_mode="count"), ids(5, high=6), prepare=nothing),
    Layer("layer_activation", lambda: L.Dense(4, activation=L.LeakyReLU(0.3)), x(3, 5)),
    Layer("layer_activation", lambda: L.Conv1D(2, 3, activation=L.ELU(alpha=0.4)), x(2, 6, 3)),
    Layer("whole_numbers", lambda: L.Resizing(25, 23, dtype="int32"), ids(1, 20, 15, 3, high=256), prepare=nothing),
    Layer("axis_before", lambda: L.RMSNormalization(axis=1), x(2, 4, 4)),
]
INITIALIZERS = [
    Init("list", lambda: initializers.Constant([1.0, 2.5, -3.0]), (4, 3)),
    Init("lists", lambda: initializers.Constant([[1.0], [2.0]]), (2, 3)),
    Init("numpy", lambda: initializers.Constant(np.arange(6, dtype="float32").reshape(2, 3) / 4), (2, 3)),
]
LOSSES = [Loss("axes", lambda: losses.CosineSimilarity(axis=[1, 2]), x(2, 3, 4), x(2, 3, 4))]
METRICS = [
    Metric("axes", lambda: metrics.PearsonCorrelation(axis=(1, 2)), x(4, 3, 5), x(4, 3, 5), u(4)),
    Metric("axes", lambda: metrics.ConcordanceCorrelation(axis=(1, 2)), x(4, 3, 5), x(4, 3, 5)),
    Metric("axes", lambda: metrics.CosineSimilarity(axis=(1, 2)), x(4, 3, 5), x(4, 3, 5)),
]


def words(rng):
    return dict(x=rng.integers(0, 4, (12, 5)).astype("int32"), y=rng.integers(0, 2, 12).astype("int32"))


def table():
    return keras.Sequential([keras.Input((5,), dtype="int32"), L.Embedding(6, 3), L.Flatten(), L.Dense(2)])


def sparse(optimizer):
    return lambda: dict(optimizer=optimizer(), loss=losses.SparseCategoricalCrossentropy(from_logits=True))


TRAINING = [
    Train("adamax_rows", table, words, sparse(lambda: optimizers.Adamax(0.05)), epochs=2, batch_size=4),
    Train("adafactor_rows", table, words, sparse(lambda: optimizers.Adafactor(0.05, weight_decay=0.01)), epochs=2, batch_size=4),
    Train("muon_rows", table, words, sparse(lambda: optimizers.Muon(0.05, adam_lr_ratio=0.5)), epochs=2, batch_size=4),
    Train("muon_all_rows", table, words, sparse(lambda: optimizers.Muon(0.05, exclude_embeddings=False)), epochs=2, batch_size=4),
]
