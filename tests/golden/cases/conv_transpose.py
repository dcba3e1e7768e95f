"""Transposed convolutions: every class with each of its options, in every number of axes."""
from keras import layers as L
from spec import Layer as C
from spec import x

LAYERS = [
    C("valid", lambda: L.Conv1DTranspose(4, 3), x(2, 5, 3)),
    C("valid_stride3", lambda: L.Conv1DTranspose(2, 2, strides=3, activation="relu"), x(2, 4, 3)),
    C("output_padding", lambda: L.Conv1DTranspose(3, 3, strides=2, output_padding=1), x(2, 4, 3)),
    C("output_padding_same", lambda: L.Conv1DTranspose(3, 4, strides=3, padding="same", output_padding=2), x(2, 4, 3)),
    C("channels_first", lambda: L.Conv1DTranspose(3, 3, strides=2, data_format="channels_first"), x(2, 3, 5), xla=True),
    C("dilated", lambda: L.Conv1DTranspose(3, 3, dilation_rate=2, padding="same"), x(2, 6, 2), xla=True),
    C("output_padding_valid", lambda: L.Conv2DTranspose(2, (3, 2), strides=(2, 3), output_padding=(1, 2)), x(2, 3, 4, 3)),
    C("output_padding_zero", lambda: L.Conv2DTranspose(2, 3, strides=2, padding="same", output_padding=0), x(2, 4, 3, 3)),
    C("dilated", lambda: L.Conv2DTranspose(3, 3, dilation_rate=(2, 1), use_bias=False), x(2, 4, 5, 2), xla=True),
    C("wide", lambda: L.Conv2DTranspose(16, 3, strides=2, padding="same", activation="relu"), x(1, 4, 5, 8)),
    C("channels_first", lambda: L.Conv2DTranspose(3, 4, strides=2, padding="same", data_format="channels_first"), x(2, 3, 4, 3), xla=True),
    C("same_stride2", lambda: L.Conv3DTranspose(3, 3, strides=2, padding="same"), x(1, 2, 3, 2, 2)),
    C("output_padding", lambda: L.Conv3DTranspose(2, 2, strides=(2, 3, 2), output_padding=(0, 1, 1), activation="elu"), x(1, 2, 2, 3, 3)),
    C("channels_first", lambda: L.Conv3DTranspose(2, 2, data_format="channels_first"), x(1, 3, 2, 3, 2), xla=True),
]
STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = CALLBACKS = TENSORBOARD = []
