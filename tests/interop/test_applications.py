"""The architectures of keras.applications, saved by Keras, open in Cohort and predict the same.

A few small ones that differ run as a rule; COHORT_ALL_APPLICATIONS=1 runs all of them.
"""
import gc
import os
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import pytest
from support import cohort, items

FEW = ["ConvNeXtTiny", "DenseNet121", "EfficientNetB0", "MobileNetV3Small", "NASNetMobile"]
ALL = FEW + [
    "ConvNeXtSmall", "ConvNeXtBase", "ConvNeXtLarge", "ConvNeXtXLarge", "DenseNet169", "DenseNet201", "EfficientNetB1", "EfficientNetB2",
    "EfficientNetB3", "EfficientNetB4", "EfficientNetB5", "EfficientNetB6", "EfficientNetB7", "EfficientNetV2B0", "EfficientNetV2B1",
    "EfficientNetV2B2", "EfficientNetV2B3", "EfficientNetV2S", "EfficientNetV2M", "EfficientNetV2L", "InceptionResNetV2", "InceptionV3",
    "MobileNet", "MobileNetV2", "MobileNetV3Large", "NASNetLarge", "ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2",
    "ResNet152V2", "VGG16", "VGG19", "Xception"]
NAMES = ALL if os.environ.get("COHORT_ALL_APPLICATIONS", "0") not in ("", "0") else FEW

# Odd sizes that differ: padding and strides show where they are wrong.
SHAPE = (85, 78, 3)


def pictures():
    """Coarse blots with noise: more different from one another than noise alone."""
    random = np.random.default_rng(7)
    blots = random.uniform(0, 255, (3, 6, 6, 3)).repeat(15, axis=1).repeat(15, axis=2)[:, :SHAPE[0], :SHAPE[1]]
    return (0.8 * blots + random.uniform(0, 50, blots.shape)).astype("float32")


def shake(model, x):
    """Gives every weight that starts as a constant a value of its own, such that signals neither grow nor vanish on the way.

    Batch normalization gets the statistics of x, changed by chance: with those of a new model its output would say little.
    """
    random = np.random.default_rng(7)
    for layer in model.layers:
        for weight in layer.weights:
            name, shape = weight.name, tuple(weight.shape)
            if name in ("bias", "beta"):
                weight.assign(random.normal(0.0, 0.1, shape))
            elif name == "gamma" or type(layer).__name__ == "LayerScale":
                weight.assign(random.uniform(0.5, 1.5, shape))
            elif name in ("mean", "variance"):
                weight.assign(random.uniform(0.2, 0.8, shape))
        if isinstance(layer, keras.layers.Normalization):
            layer.finalize_state()  # it computes with copies of its weights
    norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = 0.0
    if norms:
        model(x, training=True)
    for norm, momentum in zip(norms, momenta):
        norm.momentum = momentum
        mean, variance = np.array(norm.moving_mean), np.array(norm.moving_variance)
        variance += 0.05 * variance.mean()  # a channel that x never reaches would be blown up
        norm.moving_mean.assign(mean + 0.2 * np.sqrt(variance) * random.standard_normal(mean.shape))
        norm.moving_variance.assign(variance * random.uniform(0.7, 1.4, variance.shape))


@pytest.fixture(scope="module", params=NAMES)
def application(request, tmp_path_factory):
    """An architecture's name, a folder with its files and what it predicts."""
    keras.utils.set_random_seed(7)
    x = pictures()
    model = getattr(keras.applications, request.param)(weights=None, input_shape=SHAPE, classes=10, classifier_activation=None)
    shake(model, x)
    expected = np.array(model(x, training=False))
    # What the model makes of different images differs: a part that is wrong would show.
    assert np.abs(expected - expected.mean(axis=0)).max() > 0.005 * np.abs(expected).max()
    folder = tmp_path_factory.mktemp(request.param)
    model.save(folder / "model.keras")
    model.save(folder / "model.h5")
    with h5py.File(folder / "io.h5", "w") as io:
        io["x/0"] = x
    del model
    keras.backend.clear_session()
    gc.collect()
    yield request.param, folder, expected
    for file in folder.iterdir():
        file.unlink()


# Where 152 layers add up their rounding: Keras in float32 is 1.7e-4 away from Keras in float64, and so are we.
ROUNDING = {"ResNet152": 4e-4}


@pytest.mark.parametrize("format", ["keras", "h5"])
def test_cohort_predicts_as_keras(application, format):
    name, folder, expected = application
    began = time.perf_counter()
    cohort("infer", folder / f"model.{format}", folder / "io.h5", folder / "out.h5")
    seconds = time.perf_counter() - began
    with h5py.File(folder / "out.h5") as out:
        (outputs,) = items(out, "outputs")
        load, predict = out["seconds/load"][()], out["seconds/predict"][()]
    difference = np.abs(outputs - expected).max() / np.abs(expected).max()
    print(f"{name:18} .{format:5} difference {difference:.1e}, load {load:6.2f} s, predict {predict:6.2f} s, process {seconds:6.2f} s")
    tolerance = ROUNDING.get(name, 1e-4)
    np.testing.assert_allclose(outputs, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
