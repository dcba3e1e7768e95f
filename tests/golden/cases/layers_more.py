"""Options that other tables leave out, and whole models, which show what layers hand each other: masks.

Made into tests/golden/data/layers_more with make.py of the fixtures: --seed 7 --only layers --cases THIS.
"""
import keras
import numpy as np
from keras import initializers, layers as L

from spec import Layer, given, ids, lengths, x

C = Layer
EDGE = given(np.array([[-3, -1, -0.5, -1e-3], [0, 1e-3, 0.5, 1]], np.float32))


def padded(*lens):
    """(batch, 5, 4) whose row i is zero from step lens[i] on."""
    counts = np.arange(5)[None, :, None] < np.asarray(lens)[:, None, None]
    values = np.sin(np.arange(1, len(lens) * 20 + 1, dtype=np.float32)).reshape(len(lens), 5, 4)
    return given(np.where(counts, values, np.float32(0)))


def masked(tag, layers_of, count=2):
    """A functional model of `count` inputs that are masked where they are zero."""
    def make():
        inputs = [keras.Input((5, 4)) for _ in range(count)]
        return keras.Model(inputs, layers_of([L.Masking()(each) for each in inputs]), name="whole")
    return C(tag, make, [padded(5, 3, 1), padded(2, 5, 3), padded(3, 3, 5)][:count])


def every_activation():
    """A functional model that calls activations on symbols."""
    o, t = keras.ops, keras.Input((4,))
    outputs = [o.gelu(t), o.gelu(t, approximate=False), o.silu(t), o.selu(t), o.elu(t, alpha=0.7), o.celu(t, alpha=0.7), o.leaky_relu(t, 0.1),
               o.hard_sigmoid(t), o.hard_silu(t), o.hard_tanh(t), o.hard_shrink(t, 0.3), o.soft_shrink(t, 0.3), o.tanh_shrink(t), o.squareplus(t, b=2),
               o.sparse_plus(t), o.sparse_sigmoid(t), o.sparsemax(t), o.log_sigmoid(t), o.softsign(t), o.threshold(t, 0.2, -1.0), o.glu(t), o.sum(o.ravel(t))]
    return keras.Model(t, outputs, name="whole")


LAYERS = [
    C("celu_edge", lambda: L.Activation("celu"), EDGE),
    C("identity", lambda: L.Dense(3, kernel_initializer=initializers.Identity()), x(2, 3)),
    C("mask_first", lambda: L.GlobalAveragePooling1D(data_format="channels_first"), dict(inputs=x(2, 3, 4), mask=lengths(4, 4, 2))),
    C("channels", lambda: L.Rescaling([1.0, 2.0, 3.0], offset=[0.0, 1.0, -1.0]), x(2, 4, 3)),
    C("sequential", lambda: L.TimeDistributed(keras.Sequential([keras.Input((4,)), L.Dense(3, activation="relu"), L.Dense(2)], name="inner")), x(2, 3, 4)),
    C("activations", every_activation, x(3, 4)),

    # masks through models
    C("mask_recurrent", lambda: keras.Sequential([keras.Input((5, 4)), L.Masking(), L.Dense(3), L.Bidirectional(L.LSTM(2, return_sequences=True)),
                                                  L.GRU(3, return_sequences=True)], name="whole"), padded(5, 3, 1)),
    C("mask_embedding", lambda: keras.Sequential([keras.Input((6,), dtype="int32"), L.Embedding(5, 4, mask_zero=True), L.LayerNormalization(),
                                                  L.GlobalAveragePooling1D()], name="whole"), ids(3, 6, high=4)),
    masked("mask_add", lambda t: L.LSTM(3)(L.Add()(t))),
    masked("mask_concatenate", lambda t: L.GRU(3, return_sequences=True)(L.Concatenate(axis=1)([t[0], L.Conv1D(4, 1)(t[1])]))),
    masked("mask_attention", lambda t: L.LSTM(2)(L.Attention()(t))),
    masked("mask_heads", lambda t: L.LSTM(2)(L.MultiHeadAttention(2, 3)(t[0], t[1], use_causal_mask=True))),
    masked("mask_operation", lambda t: L.LSTM(2)(t[0] * 2.0 + t[1])),
    # With an initial state Keras hands a recurrent layer no mask by itself, though its output carries one.
    masked("mask_decoder", lambda t: L.LSTM(3, return_sequences=True)(t[1], initial_state=L.LSTM(3, return_state=True)(t[0])[1:])),
]
STATS = []
