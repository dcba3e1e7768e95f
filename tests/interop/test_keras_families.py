"""Models of many kinds, saved by Keras, open in Cohort and go on alike; what Cohort makes of them opens in Keras."""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import pytest
from keras import layers as L
from keras import losses, metrics, optimizers
from keras.optimizers import schedules
from keras.src.applications.convnext import LayerScale
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer
from support import close, cohort, items, load, one_or_all

RANDOM = np.random.default_rng(11)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype("float32")


def labels(count, classes):
    return RANDOM.integers(0, classes, count).astype("int32")


def nested():
    a = keras.Input((5,))
    hidden = L.Dense(4, activation="tanh")(a)
    inner = keras.Model(a, [L.Dense(3)(hidden), L.Dense(2, trainable=False)(hidden)], name="inner")
    x, y = keras.Input((5,)), keras.Input((5,))
    (p, q), (r, s) = inner(x), inner(y)
    model = keras.Model([x, y], L.Dense(3, activation="softmax")(L.Concatenate()([p, q, r, s])))
    model.compile(optimizers.Adam(schedules.ExponentialDecay(0.01, 10, 0.9), global_clipnorm=1.0), losses.SparseCategoricalCrossentropy(),
                  metrics=[metrics.SparseTopKCategoricalAccuracy(2), "accuracy"])
    return model, [floats(8, 5), floats(8, 5)], [labels(8, 3)]


def masked():
    words, keep = keras.Input((6, 3)), keras.Input((6,), dtype="bool")
    inner = keras.Sequential([keras.Input((6, 3)), L.LSTM(4, return_sequences=True), L.GRU(3)])
    model = keras.Model([words, keep], L.Dense(2)(inner(words, mask=keep)))
    model.compile(optimizers.SGD(0.05, momentum=0.9), losses.MeanSquaredError())
    return model, [floats(8, 6, 3), np.arange(6) < RANDOM.integers(1, 7, (8, 1))], [floats(8, 2)]


def attention():
    ids = keras.Input((6,), dtype="int32")
    e = L.Embedding(9, 8)(ids)
    e = L.LayerNormalization()(L.Add()([e, L.MultiHeadAttention(2, 4)(e, e, use_causal_mask=True)]))
    model = keras.Model(ids, [L.Dense(3, activation="softmax", name="kind")(L.GlobalAveragePooling1D()(e)),
                              L.Dense(1, name="size")(L.GlobalMaxPooling1D()(e))])
    # As in test_keras_files.py: what is left of the key bias' gradient is rounding, which must not become steps.
    model.compile(optimizers.AdamW(0.01, epsilon=1e-4), [losses.SparseCategoricalCrossentropy(), losses.LogCosh()], loss_weights=[0.5, 2.0],
                  metrics=[["accuracy"], [metrics.MeanSquaredError(), metrics.RootMeanSquaredError(name="rms")]])
    return model, [RANDOM.integers(0, 9, (8, 6)).astype("int32")], [labels(8, 3), floats(8, 1)]


def wrappers():
    x = keras.Input((4, 6, 3))
    h = L.TimeDistributed(keras.Sequential([keras.Input((6, 3)), L.Conv1D(4, 3), L.Flatten()]))(x)
    h = L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode="mul")(h)
    model = keras.Model(x, L.Dense(2)(L.RNN([L.LSTMCell(3), L.GRUCell(4)])(h)))
    model.compile(optimizers.RMSprop(0.01), losses.LogCosh(), metrics=["mae"])
    return model, [floats(8, 4, 6, 3)], [floats(8, 2)]


def images():
    model = keras.Sequential([keras.Input((8, 8, 3)), L.Conv2D(4, 3, activation="relu"), L.BatchNormalization(), L.MaxPooling2D(),
                              L.Dropout(0.0), L.SeparableConv2D(4, 2), L.Flatten(), L.Dense(3)])
    model.compile(optimizers.Adagrad(0.05), losses.SparseCategoricalCrossentropy(from_logits=True), weighted_metrics=["accuracy"])
    return model, [floats(8, 8, 8, 3)], [labels(8, 3)]


def scaled():
    model = keras.Sequential([keras.Input((5,)), L.Dense(4, activation="relu"), L.Dense(2)])
    model.compile(optimizers.LossScaleOptimizer(optimizers.Adam(0.01), initial_scale=1024.0), losses.MeanSquaredError())
    return model, [floats(8, 5)], [floats(8, 2)]


def unexported():
    """What Keras saves under other names than its users know: private layers, operations, a class exported as another."""
    x = keras.Input((4, 6))
    h = LayerScale(0.5, 6)(L.GroupQueryAttention(3, 4, 2)(x, x))
    h = CustomScaleLayer(0.17)([keras.ops.relu(x + 3.0), h])
    model = keras.Model(x, L.Dense(2)(L.Flatten()(L.Add()([h, x]))))
    model.compile(optimizers.SGD(0.05), losses.MeanSquaredError())
    return model, [floats(8, 4, 6)], [floats(8, 2)]


FAMILIES = [nested, masked, attention, wrappers, images, scaled, unexported]


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda make: make.__name__)
def family(request, tmp_path_factory):
    """A trained model, saved in every format, with what it computes and how it goes on."""
    keras.utils.set_random_seed(3)
    model, x, y = request.param()
    model.fit(one_or_all(x), one_or_all(y), epochs=2, batch_size=4, shuffle=False, verbose=0)
    folder = tmp_path_factory.mktemp(request.param.__name__)
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    predicted = model.predict(one_or_all(x), verbose=0)
    expected = dict(outputs=predicted if isinstance(predicted, list) else [predicted], weights=model.get_weights(),
                    optimizer=[np.array(v) for v in model.optimizer.variables])
    with h5py.File(folder / "io.h5", "w") as io:
        for i, a in enumerate(x):
            io[f"x/{i}"] = a
        for i, a in enumerate(y):
            io[f"resume/y/{i}"] = a
    expected["loss"] = model.train_on_batch(one_or_all(x), one_or_all(y), return_dict=True)["loss"]
    expected["resumed"] = model.get_weights()
    return folder, x, y, expected


@pytest.mark.parametrize("format", ["keras", "h5"])
def test_cohort_opens_what_keras_saved(family, format):
    folder, x, y, expected = family
    cohort("predict", folder / f"model.{format}", folder / "io.h5", folder / "out.h5")
    with h5py.File(folder / "out.h5") as out:
        close(items(out, "outputs"), expected["outputs"])
        close(items(out, "weights"), expected["weights"], atol=0)
        close(items(out, "optimizer"), expected["optimizer"], atol=0)
        close([out["resume/loss"][()]], [expected["loss"]])
        close(items(out, "resume/weights"), expected["resumed"])


@pytest.mark.parametrize("source,target", [("keras", "h5"), ("h5", "keras"), ("keras", "keras"), ("h5", "h5")])
def test_keras_opens_what_cohort_makes_of_it(family, source, target):
    folder, x, y, expected = family
    cohort("convert", folder / f"model.{source}", folder / f"again.{target}")
    model = load(folder / f"again.{target}")
    predicted = model.predict(one_or_all(x), verbose=0)
    close(predicted if isinstance(predicted, list) else [predicted], expected["outputs"])
    close(model.get_weights(), expected["weights"], atol=0)
    close([np.array(v) for v in model.optimizer.variables], expected["optimizer"], atol=0)
    loss = model.train_on_batch(one_or_all(x), one_or_all(y), return_dict=True)["loss"]
    close([loss], [expected["loss"]])
    close(model.get_weights(), expected["resumed"])


def test_keras_reads_weights_that_cohort_wrote(family):
    folder, x, y, expected = family
    cohort("convert", folder / "model.keras", folder / "again.weights.h5")
    model = keras.saving.load_model(folder / "model.keras")
    model.set_weights([np.zeros_like(w) for w in model.get_weights()])
    model.load_weights(folder / "again.weights.h5")
    close(model.get_weights(), expected["weights"], atol=0)


def test_an_exported_graph_runs_in_another_process(family):
    folder, x, y, expected = family
    cohort("export", folder / "model.keras", folder / "io.h5", folder / "model.graph", folder / "exported.h5")
    cohort("serve", folder / "model.graph", folder / "io.h5", folder / "served.h5")
    with h5py.File(folder / "exported.h5") as exported, h5py.File(folder / "served.h5") as served:
        for a, b in zip(items(exported, "outputs"), items(served, "outputs")):
            np.testing.assert_array_equal(a, b)
        close(items(served, "outputs"), expected["outputs"])


def vocabularies():
    texts, words, numbers = keras.Input((), dtype="string"), keras.Input((2,), dtype="string"), keras.Input((2,), dtype="int64")
    vectors = L.TextVectorization(max_tokens=8, output_mode="tf_idf")
    vectors.adapt(np.array(["a b c", "b c d e", "\u00fcber a"]))
    lookup, given, counts = L.StringLookup(mask_token=""), L.StringLookup(vocabulary=["p", "q"]), L.IntegerLookup(output_mode="multi_hot")
    lookup.adapt(np.array(["x", "y", "y"]))
    counts.adapt(np.array([3, 4, 4, 5]))
    parts = [vectors(texts), L.Flatten()(L.Embedding(6, 2)(lookup(words))), L.Flatten()(L.Embedding(6, 3)(given(words))), L.Rescaling(1.0)(counts(numbers))]
    return keras.Model([texts, words, numbers], L.Dense(2)(L.Concatenate()(parts)))


def test_learned_vocabularies_travel_as_assets(tmp_path):
    model = vocabularies()
    x = [np.array(["a c", "nothing \u00fcber", "e e b"], object), np.array([["x", "q"], ["y", "p"], ["", "z"]], object), np.array([[3, 5], [4, 4], [9, 3]])]
    expected = model.predict([keras.ops.convert_to_tensor(a) for a in x], verbose=0)
    model.save(tmp_path / "model.keras")
    with h5py.File(tmp_path / "io.h5", "w") as io:
        for i, a in enumerate(x):
            io.create_dataset(f"x/{i}", data=a, dtype=h5py.string_dtype() if a.dtype == object else a.dtype)
    cohort("predict", tmp_path / "model.keras", tmp_path / "io.h5", tmp_path / "out.h5")
    with h5py.File(tmp_path / "out.h5") as out:
        close(items(out, "outputs"), [expected])
    cohort("convert", tmp_path / "model.keras", tmp_path / "again.keras")
    again = keras.saving.load_model(tmp_path / "again.keras")
    close([again.predict([keras.ops.convert_to_tensor(a) for a in x], verbose=0)], [expected])
    files = [sorted(n for n in __import__("zipfile").ZipFile(tmp_path / f"{name}.keras").namelist()) for name in ("model", "again")]
    assert files[0] == files[1]


def test_names_too_many_for_one_attribute(tmp_path):
    x = keras.Input((3,))
    h = x
    for i in range(700):
        h = L.Activation("linear", name=f"a_layer_with_a_very_long_name_so_that_all_of_them_need_more_than_one_attribute_of_the_file_{i:04}")(h)
    model = keras.Model(x, L.Dense(2)(h))
    model.save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5") as file:
        assert "layer_names1" in file["model_weights"].attrs
    cohort("convert", tmp_path / "model.h5", tmp_path / "again.h5")
    with h5py.File(tmp_path / "model.h5") as file, h5py.File(tmp_path / "again.h5") as again:
        for name in ("layer_names0", "layer_names1"):
            np.testing.assert_array_equal(file["model_weights"].attrs[name], again["model_weights"].attrs[name])
    data = floats(4, 3)
    close([keras.saving.load_model(tmp_path / "again.h5").predict(data, verbose=0)], [model.predict(data, verbose=0)], atol=0)
