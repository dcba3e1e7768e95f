"""From the same weights and data, Cohort and the real Keras see the same loss at every step of the benchmark's jobs."""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import pytest
from keras import layers
from support import cohort

random = np.random.default_rng(0)


def dense10():
    model = keras.Sequential([keras.Input((10,)), layers.Dense(10)])
    x, y = random.standard_normal((2, 64 * 200, 10)).astype("float32")
    return model, x, y, 64, keras.losses.MeanSquaredError()


def mlp():
    model = keras.Sequential([keras.Input((784,)), layers.Dense(512, activation="relu"), layers.Dense(512, activation="relu"), layers.Dense(10)])
    x, y = random.standard_normal((128 * 40, 784)).astype("float32"), random.integers(0, 10, 128 * 40).astype("int32")
    return model, x, y, 128, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def transformer(vocabulary=1000, steps=64, size=128, heads=4, blocks=2):
    ids = layers.Input((steps,), dtype="int32")
    x = layers.Embedding(vocabulary, size)(ids)
    for _ in range(blocks):
        h = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(heads, size // heads)(h, h, use_causal_mask=True)])
        h = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.Dense(size)(layers.Dense(4 * size, activation="gelu")(h))])
    model = keras.Model(ids, layers.Dense(vocabulary)(layers.LayerNormalization()(x)))
    x, y = random.integers(0, vocabulary, (2, 16 * 30, steps)).astype("int32")
    return model, x, y, 16, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def gated_attention():
    ids = layers.Input((6,), dtype="int32")
    x = layers.Embedding(11, 8, mask_zero=True)(ids)
    x = layers.MultiHeadAttention(2, 4, use_gate=True, sliding_window=3, output_shape=6)(x, x)
    x = layers.Add()([x, layers.GroupQueryAttention(4, 4, 2, use_gate=True)(x, x, use_causal_mask=True)])
    x = layers.Attention(use_scale=True, score_mode="concat")([x, x])
    x = layers.AdditiveAttention()([x, x])
    model = keras.Model(ids, layers.EinsumDense("abc,cd->abd", (None, 3), bias_axes="d")(x))
    x, y = random.integers(0, 11, (8 * 30, 6)).astype("int32"), random.standard_normal((8 * 30, 6, 3)).astype("float32")
    return model, x, y, 8, keras.losses.MeanSquaredError()


def lstm():
    model = keras.Sequential([keras.Input((80,), dtype="int32"), layers.Embedding(20000, 128), layers.LSTM(128), layers.Dense(2)])
    x, y = random.integers(0, 20000, (32 * 20, 80)).astype("int32"), random.integers(0, 2, 32 * 20).astype("int32")
    return model, x, y, 32, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def small_cnn():  # without its dropout, whose numbers differ
    model = keras.Sequential([keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(2), layers.Conv2D(64, 3, activation="relu"),
                              layers.MaxPooling2D(2), layers.Flatten(), layers.Dense(10)])
    x, y = random.standard_normal((128 * 20, 28, 28, 1)).astype("float32"), random.integers(0, 10, 128 * 20).astype("int32")
    return model, x, y, 128, keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@pytest.mark.parametrize("job", [dense10, mlp, transformer, gated_attention, small_cnn, lstm])
def test_the_loss_curve_is_keras_s(tmp_path, job):
    keras.utils.set_random_seed(1)
    model, x, y, batch, loss = job()
    model.compile(optimizer=keras.optimizers.Adam(1e-3), loss=loss)
    model.save(tmp_path / "model.keras")
    expected = [model.train_on_batch(x[i:i + batch], y[i:i + batch]) for i in range(0, len(x), batch)]
    with h5py.File(tmp_path / "io.h5", "w") as io:
        io["x"], io["y"] = x, y
        io.attrs["batch"] = batch
    cohort("curve", tmp_path / "model.keras", tmp_path / "io.h5", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as out:
        difference = np.abs(out["loss"][()] - np.asarray(expected, np.float64))
    assert len(difference) == len(x) // batch
    assert difference.max() < 1e-3, f"step {difference.argmax()} differs by {difference.max()}"
