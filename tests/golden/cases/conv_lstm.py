"""Convolutional LSTMs beyond the development set.

Made into tests/golden/data/conv_lstm with make.py of the fixtures: --seed 7 --only layers --cases THIS.
"""
import numpy as np
from keras import layers as L

from spec import Layer, given, lengths, x

C = Layer
# Steps that count: a gap, leading ones left out, none at all, all.
GAPS = given(np.array([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool))

LAYERS = [
    # convolutions
    C("state_same", lambda: L.ConvLSTM1D(2, 3, padding="same", return_sequences=True, return_state=True), x(2, 3, 5, 2)),
    C("backwards_dilated", lambda: L.ConvLSTM1D(2, 2, dilation_rate=2, go_backwards=True, use_bias=False), x(2, 3, 6, 2)),
    C("mask", lambda: L.ConvLSTM1D(2, 2, return_sequences=True), dict(inputs=x(4, 5, 5, 2), mask=GAPS)),
    C("same_stride", lambda: L.ConvLSTM2D(2, 3, strides=2, padding="same", return_sequences=True), x(2, 3, 5, 4, 2)),
    C("first", lambda: L.ConvLSTM2D(2, 2, data_format="channels_first", return_sequences=True, unroll=True), x(1, 3, 2, 4, 4), xla=True),
    C("hard", lambda: L.ConvLSTM2D(2, (2, 3), activation="relu", recurrent_activation="hard_sigmoid", unit_forget_bias=False), x(1, 2, 4, 4, 1)),
    C("initial", lambda: L.ConvLSTM2D(2, 2, return_state=True), dict(inputs=x(1, 3, 4, 4, 1), initial_state=[x(1, 3, 3, 2), x(1, 3, 3, 2)])),
    C("mask_zeros", lambda: L.ConvLSTM2D(1, 2, return_sequences=True, zero_output_for_mask=True), dict(inputs=x(3, 4, 3, 3, 1), mask=lengths(4, 4, 2, 1))),
    C("stateful", lambda: L.ConvLSTM2D(1, 2, stateful=True), x(2, 2, 3, 3, 1), before=x(2, 2, 3, 3, 1)),
    C("last", lambda: L.ConvLSTM3D(2, 2), x(1, 2, 3, 3, 3, 1)),
    C("sequence_same", lambda: L.ConvLSTM3D(1, 2, padding="same", return_sequences=True), x(1, 2, 3, 2, 3, 2)),
]
STATS = []
