"""Convolutions beyond the common set: every class with each of its options, in every number of axes."""
from keras import constraints as K
from keras import layers as L
from keras import regularizers as R
from spec import Layer as C
from spec import x

LAYERS = [
    C("channels_first", lambda: L.Conv1D(4, 3, data_format="channels_first", activation="relu"), x(2, 3, 8), xla=True),
    C("causal_stride2", lambda: L.Conv1D(4, 3, strides=2, padding="causal"), x(2, 9, 3)),
    C("causal_groups", lambda: L.Conv1D(6, 2, padding="causal", dilation_rate=3, groups=3), x(2, 9, 6)),
    C("causal_first", lambda: L.Conv1D(3, 3, padding="causal", data_format="channels_first"), x(2, 2, 7), xla=True),
    C("same_dilated", lambda: L.Conv1D(3, 4, padding="same", dilation_rate=2), x(2, 9, 2)),
    C("regularized", lambda: L.Conv1D(3, 2, kernel_regularizer=R.L2(0.1), bias_regularizer=R.L1(0.2),
                                      activity_regularizer=R.L2(0.01), kernel_constraint=K.NonNeg()), x(2, 5, 2)),
    C("wide", lambda: L.Conv2D(17, 3, activation="relu"), x(1, 5, 6, 8)),
    C("deep", lambda: L.Conv2D(3, 3, padding="same"), x(1, 4, 4, 60)),
    C("one_channel", lambda: L.Conv2D(16, 3, activation="relu"), x(1, 9, 8, 1)),
    C("softmax_first", lambda: L.Conv2D(3, 2, data_format="channels_first", activation="softmax"), x(2, 3, 4, 6), xla=True),
    C("groups_first", lambda: L.Conv2D(6, 3, groups=3, data_format="channels_first", padding="same"), x(2, 6, 5, 4), xla=True),
    C("groups_wide", lambda: L.Conv2D(16, 3, groups=2, strides=2, padding="same"), x(1, 7, 6, 8)),
    C("groups_dilated", lambda: L.Conv2D(8, (2, 3), groups=4, dilation_rate=(2, 1), use_bias=False), x(2, 8, 7, 8)),
    C("same_even", lambda: L.Conv2D(5, (4, 2), padding="same", activation="tanh"), x(2, 6, 5, 3)),
    C("stride3", lambda: L.Conv2D(4, 2, strides=3, activation="gelu"), x(2, 8, 9, 2)),
    C("dilated", lambda: L.Conv3D(3, 2, dilation_rate=(1, 2, 2)), x(1, 4, 6, 5, 2)),
    C("groups", lambda: L.Conv3D(4, 2, groups=2, padding="same", activation="relu"), x(1, 3, 4, 4, 4)),
    C("strides", lambda: L.Conv3D(3, (3, 2, 1), strides=(2, 1, 3)), x(2, 5, 4, 7, 2)),
    C("channels_first", lambda: L.Conv3D(2, 2, data_format="channels_first", padding="same"), x(1, 3, 4, 3, 4), xla=True),
    C("valid_stride2", lambda: L.DepthwiseConv1D(3, strides=2), x(2, 9, 4)),
    C("dilated_first", lambda: L.DepthwiseConv1D(3, dilation_rate=2, depth_multiplier=3, data_format="channels_first"), x(2, 2, 9)),
    C("stride_and_dilation", lambda: L.DepthwiseConv1D(3, strides=2, dilation_rate=2, padding="same"), x(2, 10, 3)),
    C("multiplier_dilated", lambda: L.DepthwiseConv2D((3, 2), depth_multiplier=3, dilation_rate=(2, 1), padding="same",
                                                      activation="relu"), x(2, 7, 6, 3)),
    C("stride_and_dilation", lambda: L.DepthwiseConv2D(3, strides=2, dilation_rate=2), x(2, 9, 8, 2)),
    C("channels_first", lambda: L.DepthwiseConv2D(3, data_format="channels_first", depth_multiplier=2), x(2, 3, 6, 5)),
    C("wide", lambda: L.DepthwiseConv2D(3, padding="same", depthwise_regularizer=R.L2(0.1)), x(1, 4, 4, 19)),
    C("dilated", lambda: L.SeparableConv1D(5, 3, dilation_rate=2, depth_multiplier=2, activation="relu"), x(2, 9, 3)),
    C("channels_first", lambda: L.SeparableConv1D(5, 3, strides=2, data_format="channels_first"), x(2, 3, 9)),
    C("dilated_same", lambda: L.SeparableConv2D(4, (2, 3), dilation_rate=2, padding="same", use_bias=False,
                                                pointwise_regularizer=R.L1(0.1)), x(2, 7, 6, 3)),
    C("channels_first", lambda: L.SeparableConv2D(4, 3, depth_multiplier=2, data_format="channels_first"), x(2, 2, 6, 5)),
]
STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = CALLBACKS = TENSORBOARD = []
