"""Pooling, normalization and merging layers beyond the development set.

Made into tests/golden/data/pool with make.py of the fixtures: --seed 7 --only layers --cases THIS.
"""
from keras import layers as L, regularizers

from spec import Layer, bools, lengths, x

C = Layer
FIRST = dict(data_format="channels_first")

LAYERS = [
    # pooling
    C("first_same", lambda: L.MaxPooling1D(3, strides=2, padding="same", **FIRST), x(2, 3, 8)),
    C("apart", lambda: L.MaxPooling1D(2, strides=3), x(2, 9, 2)),
    C("first", lambda: L.MaxPooling2D((3, 2), strides=(2, 1), **FIRST), x(2, 3, 7, 5), xla=True),
    C("same_apart", lambda: L.MaxPooling2D(2, strides=3, padding="same"), x(1, 8, 7, 2)),
    C("same_overlap", lambda: L.MaxPooling3D((2, 3, 2), strides=(1, 2, 2), padding="same"), x(1, 4, 5, 4, 2)),
    C("first", lambda: L.AveragePooling1D(3, strides=2, **FIRST), x(2, 3, 8)),
    C("same_uneven", lambda: L.AveragePooling2D((3, 2), strides=(2, 3), padding="same"), x(2, 7, 8, 2)),
    C("same_overlap", lambda: L.AveragePooling3D(3, strides=2, padding="same"), x(1, 4, 5, 6, 2)),
    C("first", lambda: L.AdaptiveAveragePooling2D((3, 2), **FIRST), x(2, 2, 7, 5)),
    C("plain", lambda: L.AdaptiveAveragePooling3D((2, 3, 1)), x(1, 5, 4, 3, 2)),
    C("plain", lambda: L.AdaptiveMaxPooling3D(2), x(1, 3, 5, 4, 2)),
    C("first", lambda: L.AdaptiveMaxPooling1D(4, **FIRST), x(2, 2, 9)),
    C("first_keep", lambda: L.GlobalAveragePooling1D(keepdims=True, **FIRST), x(2, 3, 5)),
    C("mask_keep", lambda: L.GlobalAveragePooling1D(keepdims=True), dict(inputs=x(3, 5, 2), mask=lengths(5, 5, 2, 3))),
    C("first_keep", lambda: L.GlobalAveragePooling3D(keepdims=True, **FIRST), x(2, 2, 3, 2, 2)),
    C("first_keep", lambda: L.GlobalMaxPooling2D(keepdims=True, **FIRST), x(2, 3, 4, 2)),
    C("keep", lambda: L.GlobalMaxPooling1D(keepdims=True), x(2, 5, 3)),
    # normalization
    C("train_axis2", lambda: L.BatchNormalization(axis=2, momentum=0.7, gamma_regularizer=regularizers.L2(0.1)), x(2, 3, 4, 5), training=True),
    C("train_first", lambda: L.BatchNormalization(axis=1, center=False), x(4, 3, 5, 2, shift=3.0), training=True),
    C("train_wide", lambda: L.BatchNormalization(epsilon=1e-2), x(40, 37, shift=10.0), training=True),
    C("frozen", lambda: L.BatchNormalization(trainable=False), x(6, 3), training=True),
    C("train_mask", lambda: L.BatchNormalization(scale=False), dict(inputs=x(3, 6, 2), mask=bools(3, 6)), training=True),
    C("synchronized", lambda: L.BatchNormalization(synchronized=True), x(5, 4), training=True),
    C("renorm", lambda: L.BatchNormalization(renorm=True), x(6, 3, shift=1.0), training=True),
    C("renorm_clipped", lambda: L.BatchNormalization(axis=1, renorm=True, scale=False, renorm_momentum=0.8,
                                                     renorm_clipping=dict(rmax=1.2, rmin=0.8, dmax=0.3)), x(5, 3, 2), training=True),
    C("axis1", lambda: L.LayerNormalization(axis=1), x(3, 4, 5)),
    C("axes13", lambda: L.LayerNormalization(axis=[1, 3], scale=False), x(2, 3, 4, 5)),
    C("wide", lambda: L.LayerNormalization(epsilon=1e-6, beta_regularizer=regularizers.L1(0.01)), x(3, 4, 70, shift=5.0)),
    C("plain", lambda: L.LayerNormalization(center=False, scale=False), x(5, 9)),
    C("rms_axes", lambda: L.LayerNormalization(axis=[1, 2], rms_scaling=True), x(2, 3, 4)),
    C("axis1", lambda: L.GroupNormalization(groups=3, axis=1), x(2, 6, 4, 3)),
    C("axis_back", lambda: L.GroupNormalization(groups=2, axis=-2, center=False), x(2, 3, 4, 5)),
    C("vectors", lambda: L.GroupNormalization(groups=2, scale=False), x(3, 8)),
    C("epsilon", lambda: L.RMSNormalization(epsilon=0.1), x(4, 5)),
    C("axis1", lambda: L.UnitNormalization(axis=1), x(3, 4, 2)),
    C("train_conv", lambda: L.SpectralNormalization(L.Conv2D(3, 2), power_iterations=3), x(2, 4, 4, 2), training=True),
    C("train_regularized", lambda: L.SpectralNormalization(L.Dense(3, kernel_regularizer=regularizers.L2(0.1))), x(2, 4), training=True),
    # merging
    C("broadcast", lambda: L.Average(), [x(2, 4, 3), x(2, 1, 3), x(2, 3)]),
    C("three", lambda: L.Maximum(), [x(2, 4), x(2, 4), x(2, 4)]),
    C("broadcast", lambda: L.Minimum(), [x(2, 4, 3), x(2, 1, 3)]),
    C("broadcast", lambda: L.Multiply(), [x(2, 4, 3), x(2, 3)]),
    C("broadcast", lambda: L.Subtract(), [x(2, 3), x(2, 4, 3)]),
    C("cosine_back", lambda: L.Dot(axes=-1, normalize=True), [x(2, 3, 4), x(2, 5, 4)]),
    C("vector_matrix", lambda: L.Dot(axes=(1, 2)), [x(2, 4), x(2, 3, 4)]),
    C("deep", lambda: L.Dot(axes=(2, 1)), [x(2, 3, 4, 2), x(2, 4, 5)]),
]
STATS = []
