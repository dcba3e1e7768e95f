"""Recurrent layers beyond the development set: masks with every direction, states.

Made into tests/golden/data/recurrent with make.py of the fixtures: --seed 7 --only layers --cases THIS.
"""
import numpy as np
from keras import layers as L, regularizers

from spec import Layer, bools, given, x

C = Layer
# Steps that count: a gap, leading ones left out, none at all, all.
GAPS = given(np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool))


def masked(*state):
    inputs = dict(inputs=x(4, 5, 3), mask=GAPS)
    if state:
        inputs["initial_state"] = list(state) if len(state) > 1 else state[0]
    return inputs


LAYERS = [
    # masks with every way through the sequence, with and without states to start from
    C("gaps_sequence", lambda: L.LSTM(3, return_sequences=True, return_state=True), masked(x(4, 3), x(4, 3))),
    C("gaps_backwards", lambda: L.LSTM(3, return_sequences=True, go_backwards=True), masked(x(4, 3), x(4, 3))),
    C("gaps_backwards_last", lambda: L.LSTM(3, go_backwards=True, return_state=True), masked()),
    C("gaps_zeros_last", lambda: L.LSTM(3, zero_output_for_mask=True), masked(x(4, 3), x(4, 3))),
    C("gaps_zeros_backwards", lambda: L.LSTM(3, zero_output_for_mask=True, go_backwards=True, return_sequences=True), masked()),
    C("gaps_unrolled", lambda: L.LSTM(3, unroll=True, return_sequences=True, return_state=True), masked(x(4, 3), x(4, 3))),
    C("gaps_zeros_unrolled", lambda: L.LSTM(3, unroll=True, zero_output_for_mask=True, return_sequences=True), masked()),
    C("gaps_other_activation", lambda: L.LSTM(3, activation="elu", return_sequences=True), masked(x(4, 3), x(4, 3))),
    C("gaps_sequence", lambda: L.GRU(3, return_sequences=True, return_state=True), masked(x(4, 3))),
    C("gaps_backwards", lambda: L.GRU(3, go_backwards=True, return_state=True), masked(x(4, 3))),
    C("gaps_before", lambda: L.GRU(3, reset_after=False, return_sequences=True), masked(x(4, 3))),
    C("gaps_zeros", lambda: L.GRU(3, zero_output_for_mask=True, return_sequences=True), masked(x(4, 3))),
    C("gaps_sequence", lambda: L.SimpleRNN(3, return_sequences=True, return_state=True), masked(x(4, 3))),
    C("gaps_backwards", lambda: L.SimpleRNN(3, go_backwards=True, return_sequences=True), masked(x(4, 3))),
    C("gaps_last", lambda: L.SimpleRNN(3, activation="relu"), masked()),

    # more rows than one block of the kernel, more units than one panel
    C("wide", lambda: L.LSTM(13, return_sequences=True), dict(inputs=x(19, 3, 5), mask=bools(19, 3))),
    C("wide", lambda: L.GRU(13, return_state=True), x(19, 3, 5)),
    C("wide", lambda: L.SimpleRNN(13), x(19, 3, 5)),
    C("one_step", lambda: L.LSTM(3, return_sequences=True), x(2, 1, 3)),

    # options
    C("no_bias", lambda: L.SimpleRNN(3, use_bias=False, return_state=True), x(2, 4, 3)),
    C("unrolled_backwards", lambda: L.GRU(3, unroll=True, go_backwards=True, return_sequences=True), x(2, 4, 3)),
    C("dropout_infer", lambda: L.GRU(3, dropout=0.3, recurrent_dropout=0.2, seed=3), x(2, 4, 3)),
    C("dropout_none_train", lambda: L.LSTM(3, dropout=1.0, recurrent_dropout=1.0), x(2, 4, 3), training=True),
    C("penalties", lambda: L.LSTM(3, kernel_regularizer=regularizers.L2(0.1), recurrent_regularizer="l1", bias_regularizer="l2",
                                  activity_regularizer=regularizers.L2(0.05), return_sequences=True), x(2, 4, 3)),
    C("sigmoid_linear", lambda: L.GRU(3, activation="linear", recurrent_activation="hard_sigmoid"), x(2, 4, 3)),
    C("no_activation", lambda: L.SimpleRNN(3, activation=None), x(2, 4, 3)),
    C("stateful_sequence", lambda: L.SimpleRNN(3, stateful=True, return_sequences=True), x(2, 4, 3), before=x(2, 4, 3)),
    C("stateful_state", lambda: L.LSTM(3, stateful=True, return_state=True, go_backwards=True), x(2, 4, 3), before=x(2, 4, 3)),
    C("stateful_before", lambda: L.GRU(3, stateful=True, reset_after=False, unroll=True), x(2, 4, 3), before=x(2, 4, 3)),
]
STATS = []
