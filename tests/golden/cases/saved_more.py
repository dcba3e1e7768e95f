"""Saved models of further families: nested models, wrappers, frozen layers, several outputs, rich compilations."""
import keras
import numpy as np
from keras import layers as L, losses, metrics, optimizers, regularizers
from keras.optimizers import schedules as S

from spec import Saved


def floats(*shape):
    return lambda r: r.standard_normal(shape).astype(np.float32)


def pairs(x, y):
    return lambda r: dict(x=x(r), y=y(r))


def labels(count, classes):
    return lambda r: r.integers(0, classes, count).astype(np.int32)


def tokens(count, steps, words):
    def draw(r):
        ids = r.integers(1, words, (count, steps))
        return np.where(np.arange(steps) < r.integers(1, steps + 1, (count, 1)), ids, 0).astype(np.int32)
    return draw


def nested_twice():
    """A functional model of two outputs inside another, called twice, with a frozen layer."""
    a = keras.Input((5,), name="a")
    h = L.Dense(4, activation="tanh", name="shared_hidden")(a)
    inner = keras.Model(a, [L.Dense(3, name="left")(h), L.Dense(2, name="right", trainable=False)(h)], name="inner")
    x, y = keras.Input((5,), name="x"), keras.Input((5,), name="y")
    (p, q), (r, s) = inner(x), inner(y)
    z = L.Concatenate(name="joined")([p, q, r, s])
    return keras.Model([x, y], L.Dense(3, activation="softmax", name="top")(z), name="outer")


def nested_outputs():
    """Outputs that come straight from a functional model and a stack inside."""
    a = keras.Input((4,))
    inner = keras.Model(a, L.Dense(2)(L.Dense(3, activation="tanh")(a)), name="inner")
    stack = keras.Sequential([keras.Input((4,)), L.Dense(2)], name="stack")
    x = keras.Input((4,))
    return keras.Model(x, [inner(L.Dense(4)(x)), stack(x), inner(x)], name="outputs")


def deep_stack():
    """Sequential in Sequential in functional."""
    low = keras.Sequential([keras.Input((6,)), L.Dense(5, activation="relu"), L.BatchNormalization()], name="low")
    high = keras.Sequential([low, L.Dense(4), L.LayerNormalization()], name="high")
    x = keras.Input((6,))
    return keras.Model(x, L.Dense(2)(L.Add()([high(x), L.Dense(4)(x)])), name="deep")


def mask_by_hand():
    """A nested model that is called with a mask made of symbols."""
    words = keras.Input((6, 3), name="words")
    inner = keras.Sequential([keras.Input((6, 3)), L.LSTM(4, return_sequences=True), L.GRU(3)], name="reader")
    keep = keras.Input((6,), dtype="bool", name="keep")
    return keras.Model([words, keep], L.Dense(2)(inner(words, mask=keep)), name="masked")


def wrappers():
    x = keras.Input((4, 6, 3))
    h = L.TimeDistributed(keras.Sequential([keras.Input((6, 3)), L.Conv1D(4, 3), L.Flatten()]))(x)
    h = L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="concat")(h)
    h = L.RNN([L.LSTMCell(3), L.GRUCell(4)], return_sequences=True)(h)
    h = L.Bidirectional(L.SimpleRNN(3), merge_mode="ave")(h)
    return keras.Model(x, L.Dense(2)(h), name="wrappers")


def convolutions():
    return keras.Sequential([
        keras.Input((8, 8, 3)), L.SeparableConv2D(4, 3, padding="same", activation="relu"), L.GroupNormalization(2),
        L.Conv2DTranspose(3, 3, strides=2, padding="same"), L.SpatialDropout2D(0.0), L.PReLU(shared_axes=[1, 2]), L.UnitNormalization(),
        L.SpectralNormalization(L.Conv2D(2, 3)), L.GlobalMaxPooling2D(), L.Dense(3)], name="convolutions")


def frozen():
    model = keras.Sequential([keras.Input((5,)), L.Dense(4, activation="relu", kernel_regularizer=regularizers.L1L2(0.01, 0.02)),
                              L.BatchNormalization(), L.Dense(4, activity_regularizer="l2", bias_constraint="non_neg"), L.Dense(2)], name="frozen")
    model.layers[0].trainable = False
    model.layers[1].trainable = False
    return model


def regression(optimizer, **more):
    return lambda: dict(optimizer=optimizer(), loss=losses.MeanSquaredError(), **more)


SAVED = [
    Saved("nested_twice", nested_twice, lambda r: dict(x=[floats(6, 5)(r), floats(6, 5)(r)], y=labels(6, 3)(r)),
          lambda: dict(optimizer=optimizers.Adam(S.CosineDecay(0.01, 20, alpha=0.1, warmup_target=0.02, warmup_steps=4), amsgrad=True, global_clipnorm=1.0),
                       loss=losses.SparseCategoricalCrossentropy(), metrics=[metrics.SparseTopKCategoricalAccuracy(2, name="top2"), "accuracy"])),
    Saved("nested_outputs", nested_outputs, lambda r: dict(x=floats(6, 4)(r), y=[floats(6, 2)(r), floats(6, 2)(r), floats(6, 2)(r)]),
          lambda: dict(optimizer=optimizers.SGD(0.05), loss=[losses.MeanSquaredError(), losses.MeanAbsoluteError(), losses.MeanSquaredError()], loss_weights=[1.0, 0.5, 2.0])),
    Saved("deep_stack", deep_stack, pairs(floats(6, 6), floats(6, 2)),
          regression(lambda: optimizers.AdamW(S.PiecewiseConstantDecay([2, 4], [0.01, 0.005, 0.001]), use_ema=True, ema_momentum=0.9),
                     metrics=[metrics.MeanAbsoluteError(), metrics.R2Score()], weighted_metrics=["mse"])),
    Saved("mask_by_hand", mask_by_hand, lambda r: dict(x=[floats(5, 6, 3)(r), tokens(5, 6, 9)(r) > 0], y=floats(5, 2)(r)),
          regression(lambda: optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipvalue=0.5))),
    Saved("wrappers", wrappers, pairs(floats(4, 4, 6, 3), floats(4, 2)), regression(lambda: optimizers.Adamax(0.01))),
    Saved("convolutions", convolutions, pairs(floats(4, 8, 8, 3), labels(4, 3)),
          lambda: dict(optimizer=optimizers.Ftrl(0.05, l1_regularization_strength=0.001), loss=losses.SparseCategoricalCrossentropy(from_logits=True))),
    Saved("frozen", frozen, pairs(floats(6, 5), floats(6, 2)), regression(lambda: optimizers.RMSprop(0.01, momentum=0.5, centered=True, weight_decay=0.01))),
    Saved("scaled", lambda: keras.Sequential([keras.Input((5,)), L.Dense(4, activation="relu"), L.Dense(2)], name="scaled"), pairs(floats(6, 5), floats(6, 2)),
          regression(lambda: optimizers.LossScaleOptimizer(optimizers.Adam(0.01), initial_scale=1024.0, dynamic_growth_steps=2))),
    Saved("frozen_uncompiled", frozen, pairs(floats(6, 5), floats(6, 2))),
]
for case in SAVED:  # files of weights alone have the layout of those inside archives
    case.formats = tuple(format for format in case.formats if format != "weights.h5")
