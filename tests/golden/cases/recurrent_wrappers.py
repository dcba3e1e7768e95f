"""RNN over cells, Bidirectional and TimeDistributed beyond the development set.

Made into tests/golden/data/recurrent_wrappers with make.py of the fixtures: --seed 7 --only layers --cases THIS.
"""
import numpy as np
from keras import layers as L

from spec import Layer, bools, given, x

C = Layer
# Steps that count: a gap, leading ones left out, none at all, all.
GAPS = given(np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool))


def masked(**more):
    return dict(inputs=x(4, 5, 3), mask=GAPS, **more)


LAYERS = [
    # cells
    C("call", lambda: L.LSTMCell(3), dict(inputs=x(2, 4), states=[x(2, 3), x(2, 3)])),
    C("call", lambda: L.GRUCell(3), dict(inputs=x(2, 4), states=[x(2, 3)])),
    C("call_bare", lambda: L.GRUCell(3, reset_after=False), dict(inputs=x(2, 4), states=x(2, 3))),
    C("call_bare", lambda: L.SimpleRNNCell(3, use_bias=False), dict(inputs=x(2, 4), states=x(2, 3))),
    C("one_cell", lambda: L.RNN(L.LSTMCell(3), return_sequences=True, return_state=True), x(2, 4, 3)),
    C("gru_cell_mask", lambda: L.RNN(L.GRUCell(3), return_state=True), masked(initial_state=x(4, 3))),
    C("simple_cell_backwards", lambda: L.RNN(L.SimpleRNNCell(3), go_backwards=True, return_sequences=True), masked()),
    C("stack_state", lambda: L.RNN([L.SimpleRNNCell(2), L.GRUCell(3), L.LSTMCell(4)], return_state=True), x(2, 4, 3)),
    C("stack_mask", lambda: L.RNN([L.LSTMCell(2), L.GRUCell(3, reset_after=False)], return_sequences=True, zero_output_for_mask=True), masked()),
    C("stack_unrolled", lambda: L.RNN(L.StackedRNNCells([L.GRUCell(2), L.LSTMCell(3)]), unroll=True), x(2, 4, 3)),

    # both directions
    C("mul", lambda: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode="mul"), x(2, 4, 3)),
    C("ave_last", lambda: L.Bidirectional(L.LSTM(3), merge_mode="ave"), x(2, 4, 3)),
    C("concat_state", lambda: L.Bidirectional(L.LSTM(3, return_state=True, return_sequences=True)), x(2, 4, 3)),
    C("none_state", lambda: L.Bidirectional(L.GRU(3, return_state=True), merge_mode=None), x(2, 4, 3)),
    C("none_mask", lambda: L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode=None), masked()),
    C("mask_last", lambda: L.Bidirectional(L.LSTM(3), merge_mode="sum"), masked()),
    C("initial_state", lambda: L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="sum"),
      dict(inputs=x(2, 4, 3), initial_state=[x(2, 3), x(2, 3), x(2, 3), x(2, 3)])),
    C("backward_layer", lambda: L.Bidirectional(L.LSTM(3, return_sequences=True),
                                                backward_layer=L.GRU(2, return_sequences=True, go_backwards=True)), x(2, 4, 3)),
    C("cells", lambda: L.Bidirectional(L.RNN(L.GRUCell(3), return_sequences=True)), x(2, 4, 3)),

    # every step by itself
    C("dense_mask", lambda: L.TimeDistributed(L.Dense(3)), masked()),
    C("inner_sequence", lambda: L.TimeDistributed(L.LSTM(3)), x(2, 3, 4, 2)),
    C("inner_sequence_mask", lambda: L.TimeDistributed(L.GRU(3, return_sequences=True)), dict(inputs=x(2, 3, 4, 2), mask=bools(2, 3, 4))),
    C("flatten", lambda: L.TimeDistributed(L.Flatten()), x(2, 3, 4, 2)),
    C("batch_norm_train", lambda: L.TimeDistributed(L.BatchNormalization(momentum=0.8)), x(4, 3, 5), training=True),
    C("batch_norm_infer", lambda: L.TimeDistributed(L.BatchNormalization()), x(4, 3, 5)),
    C("conv_stride", lambda: L.TimeDistributed(L.Conv2D(2, 3, strides=2, padding="same", activation="relu")), x(2, 2, 5, 4, 3)),
]
STATS = []
