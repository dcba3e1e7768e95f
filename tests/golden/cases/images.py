"""Reshaping, regularization and image layers beyond the development set.

Made into tests/golden/data/images with make.py of the fixtures: --seed 7 --only layers --cases THIS. The random layers
have factors whose two ends are equal, so that what they do in training is known. Where they move pixels they are given
integers: TensorFlow's gradient turns the flow back by the inverse map, which is not the gradient of what it computes.
"""
from keras import layers as L

from spec import Layer, Stat, ids, u, x

C = Layer
FIRST = dict(data_format="channels_first")

LAYERS = [
    # reshaping
    C("first", lambda: L.ZeroPadding1D((0, 2), **FIRST), x(2, 3, 4)),
    C("first", lambda: L.ZeroPadding2D((2, 1), **FIRST), x(2, 3, 4, 2)),
    C("uneven_first", lambda: L.ZeroPadding3D(((1, 0), (0, 2), (1, 1)), **FIRST), x(1, 2, 2, 3, 2)),
    C("open_end", lambda: L.Cropping1D((2, 0)), x(2, 5, 2)),
    C("first", lambda: L.Cropping2D((1, 2), **FIRST), x(2, 3, 4, 6)),
    C("uneven_first", lambda: L.Cropping3D(((1, 0), (0, 2), (1, 1)), **FIRST), x(1, 2, 3, 4, 4)),
    C("first", lambda: L.UpSampling2D((3, 2), **FIRST), x(2, 3, 2, 3)),
    C("bilinear_first", lambda: L.UpSampling2D((3, 2), interpolation="bilinear", **FIRST), x(2, 3, 2, 3)),
    C("bicubic", lambda: L.UpSampling2D((2, 3), interpolation="bicubic"), x(2, 4, 5, 2)),
    C("lanczos3", lambda: L.UpSampling2D(2, interpolation="lanczos3"), x(1, 5, 4, 2)),
    C("lanczos5", lambda: L.UpSampling2D((3, 2), interpolation="lanczos5"), x(1, 6, 7, 1)),
    C("first", lambda: L.UpSampling3D((2, 1, 3), **FIRST), x(1, 2, 2, 3, 2)),
    # regularization
    C("rate0_train", lambda: L.GaussianNoise(0.0), x(3, 4), training=True),
    C("rate0_train", lambda: L.AlphaDropout(0.0), x(3, 4), training=True),
    C("rate0_train", lambda: L.SpatialDropout3D(0.0, **FIRST), x(1, 2, 2, 3, 2), training=True),
    C("l2", lambda: L.ActivityRegularization(l2=0.3), x(3, 4, 2)),
    # images
    C("bicubic_down", lambda: L.Resizing(3, 4, interpolation="bicubic"), u(2, 7, 9, 2)),
    C("bicubic_antialias", lambda: L.Resizing(3, 4, interpolation="bicubic", antialias=True), u(2, 7, 9, 2)),
    C("bilinear_antialias", lambda: L.Resizing(3, 4, antialias=True), u(2, 8, 9, 2)),
    C("lanczos3_antialias", lambda: L.Resizing(4, 3, interpolation="lanczos3", antialias=True), u(1, 9, 8, 2)),
    C("lanczos5", lambda: L.Resizing(4, 9, interpolation="lanczos5"), u(1, 7, 6, 2)),
    C("crop", lambda: L.Resizing(4, 6, crop_to_aspect_ratio=True), u(2, 9, 7, 2)),
    C("pad", lambda: L.Resizing(4, 6, pad_to_aspect_ratio=True, fill_value=0.5), u(2, 9, 7, 2)),
    C("first", lambda: L.Resizing(5, 3, **FIRST), u(2, 3, 4, 6)),
    C("first", lambda: L.CenterCrop(2, 3, **FIRST), u(2, 3, 5, 4)),
    C("enlarged", lambda: L.CenterCrop(6, 5), u(2, 4, 7, 2)),
    C("train_turn", lambda: L.RandomRotation((0.1, 0.1)), ids(2, 5, 6, 2, high=20), training=True),
    C("train_nearest", lambda: L.RandomRotation((0.3, 0.3), interpolation="nearest", fill_mode="nearest"), ids(2, 5, 6, 2, high=20), training=True),
    C("train_constant", lambda: L.RandomRotation((-0.15, -0.15), fill_mode="constant", fill_value=0.3, **FIRST), ids(2, 2, 6, 5, high=20), training=True),
    C("train_in", lambda: L.RandomZoom((-0.3, -0.3)), ids(2, 6, 5, 2, high=20), training=True),
    C("train_out", lambda: L.RandomZoom((0.4, 0.4), (0.7, 0.7), fill_mode="wrap"), ids(2, 6, 5, 2, high=20), training=True),
    C("train_reflect", lambda: L.RandomTranslation((0.3, 0.3), (-0.45, -0.45)), ids(2, 6, 5, 2, high=20), training=True),
    C("train_wrap", lambda: L.RandomTranslation((-0.6, -0.6), (0.25, 0.25), fill_mode="wrap"), ids(2, 6, 5, 2, high=20), training=True),
    C("train_constant", lambda: L.RandomTranslation((0.2, 0.2), (0.2, 0.2), fill_mode="constant", fill_value=2.0), ids(2, 6, 5, 2, high=20), training=True),
    C("train_even", lambda: L.RandomBrightness((0.2, 0.2), value_range=(0, 1)), u(2, 3, 4, 3), training=True),
    C("train_even", lambda: L.RandomContrast((0.0, 0.0), value_range=(0.1, 0.9)), u(2, 3, 4, 3), training=True),
    C("train_whole", lambda: L.RandomCrop(4, 5, seed=1), u(2, 4, 5, 2), training=True),
]
STATS = [
    Stat("train_stats", lambda: L.SpatialDropout3D(0.3, seed=1), (100, 2, 3, 2, 30),
         dict(zero_fraction=0.3, kept_value=1 / 0.7, mean=1.0, std=(0.3 / 0.7) ** 0.5, independent=3000, constant_axes=[1, 2, 3])),
    Stat("train_first", lambda: L.SpatialDropout2D(0.5, data_format="channels_first", seed=2), (100, 30, 4, 4),
         dict(zero_fraction=0.5, kept_value=2.0, mean=1.0, std=1.0, independent=3000, constant_axes=[2, 3])),
]
