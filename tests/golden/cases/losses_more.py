"""Losses, metrics, optimizers, schedules and trainings whose options once gave other numbers than Keras's."""
import keras
import numpy as np
from keras import layers as L, losses, metrics, optimizers
from keras.optimizers import schedules as S

from spec import Loss, Metric, Optimizer, Schedule, Train, given, flips, ids, onehot, prob, u, x

LOSSES = [
    Loss("reduction_null", lambda: losses.MeanSquaredError(reduction=None), x(4, 3), x(4, 3), u(4)),
    Loss("reduction_null", lambda: losses.SparseCategoricalCrossentropy(reduction=None), ids(4, high=3), prob(4, 3)),
    Loss("logits_other_axis", lambda: losses.CategoricalCrossentropy(from_logits=True, axis=1), onehot(3, 4, 4), x(3, 4, 4)),
    Loss("many_hot_logits", lambda: losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1), flips(5, 4), x(5, 4), u(5)),
    Loss("alpha_of_classes", lambda: losses.CategoricalFocalCrossentropy(alpha=[0.2, 0.5, 0.9]), onehot(6, 3), prob(6, 3)),
    Loss("zero_vectors", lambda: losses.CosineSimilarity(), given([[0.0, 0.0], [1.0, 2.0]]), given([[1.0, 2.0], [0.0, 0.0]])),
]
METRICS = [
    Metric("ignored_weighted", lambda: metrics.SparseCategoricalCrossentropy(ignore_class=-1), given([0, -1, 2, -1, 1]), prob(5, 3), u(5)),
    Metric("label_weights", lambda: metrics.AUC(multi_label=True, label_weights=[0.2, 0.5, 1.5], num_thresholds=9), flips(8, 3), u(8, 3)),
]
OPTIMIZERS = [
    Optimizer("around_adafactor", lambda: optimizers.LossScaleOptimizer(optimizers.Adafactor(0.05), initial_scale=64.0,
                                                                       dynamic_growth_steps=2), bad_steps=(2,)),
]
SCHEDULES = [
    Schedule("float_boundaries", lambda: S.PiecewiseConstantDecay([1.0, 30.5], [0.5, 0.4, 0.3]), [0, 1, 2, 29, 30, 31, 50]),
]


def embedding():
    return keras.Sequential([keras.Input((5,), dtype="int32"), L.Embedding(12, 4), L.GlobalAveragePooling1D(),
                             L.Dense(2, activation="softmax")])


def repeated_tokens(rng):
    return dict(x=rng.integers(0, 12, (20, 5)).astype(np.int32), y=rng.integers(0, 2, 20).astype(np.int32))


def dict_outputs():
    inputs = keras.Input((4,), name="a")
    hidden = L.Dense(6, activation="tanh", name="hidden")(inputs)
    return keras.Model({"a": inputs}, {"one": L.Dense(3, activation="softmax", name="one")(hidden), "two": L.Dense(2, name="two")(hidden),
                                       "three": L.Dense(1, activation="sigmoid", name="three")(hidden)})


def dict_data(rng):
    return dict(x={"a": rng.standard_normal((24, 4)).astype(np.float32)},
                y={"one": rng.integers(0, 3, 24).astype(np.int32), "two": rng.standard_normal((24, 2)).astype(np.float32),
                   "three": rng.integers(0, 2, (24, 1)).astype(np.float32)})


def on_tokens(tag, optimizer):
    return Train(tag, embedding, repeated_tokens, lambda: dict(optimizer=optimizer(), loss="sparse_categorical_crossentropy"), epochs=2)


TRAINING = [
    on_tokens("embedding_clipvalue", lambda: optimizers.SGD(0.1, clipvalue=0.01)),
    on_tokens("embedding_clipnorm", lambda: optimizers.Adam(0.02, clipnorm=0.1)),
    on_tokens("embedding_global_clipnorm", lambda: optimizers.Adam(0.02, global_clipnorm=0.1)),
    on_tokens("embedding_muon", lambda: optimizers.Muon(0.01)),
    on_tokens("embedding_adafactor", lambda: optimizers.Adafactor(0.05)),
    Train("unsorted_dict_outputs", dict_outputs, dict_data, lambda: dict(
        optimizer=optimizers.Adam(0.01), loss={"one": "sparse_categorical_crossentropy", "two": "mse", "three": "binary_crossentropy"},
        metrics={"one": ["accuracy"], "two": ["mae"]}), epochs=2),
]
