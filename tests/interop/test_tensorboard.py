"""The real TensorBoard reads what Cohort logs, and finds what the real Keras logs."""
import json
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import pytest
from support import cohort
from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.util import tensor_util

EVERYTHING = {kind: 0 for kind in event_accumulator.DEFAULT_SIZE_GUIDANCE}


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    cohort("events", folder)
    return folder


def read(folder):
    accumulator = event_accumulator.EventAccumulator(str(folder), size_guidance=EVERYTHING)
    accumulator.Reload()
    return accumulator


def plugin(run, tag):
    return run.SummaryMetadata(tag).plugin_data.plugin_name


def values(run, tag):
    return [(event.step, tensor_util.make_ndarray(event.tensor_proto)) for event in run.Tensors(tag)]


def test_event_writer(logs):
    run = read(logs / "plain")
    kinds = {"curve": "scalars", "note": "text", "spread": "histograms", "pictures": "images", "grey": "images", "tone": "audio",
             "hparam/accuracy": "scalars", "_hparams_/experiment": "hparams", "_hparams_/session_start_info": "hparams",
             "_hparams_/session_end_info": "hparams"}
    assert {tag: plugin(run, tag) for tag in run.Tags()["tensors"]} == kinds
    assert [(step, float(value)) for step, value in values(run, "curve")] == [(i, 0.5 * i) for i in range(5)]
    assert values(run, "note")[0][1].item() == b"# Title\nsome *text*"
    for step, rows in values(run, "spread"):
        data = np.sin((0.1 + step) * np.arange(1, 101)).astype(np.float32)
        assert rows.shape == (30, 3) and rows.dtype == np.float64
        assert rows[:, 2].sum() == 100
        np.testing.assert_allclose([rows[0, 0], rows[-1, 1]], [data.min(), data.max()], rtol=1e-6)
        counts, _ = np.histogram(data.astype(np.float64), bins=30)
        assert np.abs(counts - rows[:, 2]).sum() <= 2  # values on an edge


def test_callback_uses_the_tags_of_keras(logs):
    train, validation = read(logs / "fit" / "train"), read(logs / "fit" / "validation")
    weights = [f"sequential/{layer}/{weight}/histogram" for layer in ("dense", "dense_1") for weight in ("bias", "kernel")]
    scalars = ["batch_accuracy", "batch_loss", "epoch_accuracy", "epoch_learning_rate", "epoch_loss"]
    weights += [tag.replace("histogram", "image") for tag in weights]
    assert sorted(train.Tags()["tensors"]) == sorted(scalars + weights + ["keras", "batch_3"])
    assert sorted(validation.Tags()["tensors"]) == [
        "epoch_accuracy", "epoch_loss", "evaluation_accuracy_vs_iterations", "evaluation_loss_vs_iterations"]
    assert plugin(train, "keras") == "graph_keras_model"
    assert [step for step, _ in values(train, "batch_loss")] == [1, 2, 3, 4, 5, 6]
    assert [step for step, _ in values(train, "epoch_loss")] == [0, 1]
    assert [step for step, _ in values(validation, "evaluation_loss_vs_iterations")] == [3, 6]
    np.testing.assert_allclose([value for _, value in values(train, "epoch_learning_rate")], 0.05, rtol=1e-6)


def test_the_file_version_comes_first(logs):
    for folder in (logs / "plain", logs / "fit" / "train"):
        (file,) = [path for path in folder.iterdir() if path.is_file()]
        assert file.name.startswith("events.out.tfevents.") and file.name.endswith(".v2")
        assert read(folder).file_version == 2.0


def test_a_profile_is_a_trace_of_the_steps(logs):
    (file,) = (logs / "fit" / "train" / "plugins" / "profile").glob("*/*.trace.json")
    events = json.loads(file.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    assert [span["args"]["number"] for span in spans if span["cat"] == "step"] == [1, 2]
    assert {"execution", "data", "compute", "callback"} <= {span["cat"] for span in spans}
    assert all(span["ts"] >= 0 and span["dur"] >= 0 and span["pid"] == events[0]["pid"] for span in spans)


def everything_in(run):
    """Each tag of a run as it was written: plugin, type, shape, steps, values."""
    tags, versions = {}, []
    for file in sorted(path for path in run.iterdir() if "tfevents" in path.name):
        for event in event_file_loader.LegacyEventFileLoader(str(file)).Load():
            versions += [event.file_version] if event.file_version else []
            for value in event.summary.value:
                about = value.metadata.plugin_data
                tensor = value.tensor
                key = (about.plugin_name, about.content, value.WhichOneof("value"), tensor.dtype, [dim.size for dim in tensor.tensor_shape.dim])
                numbers = tensor_util.make_ndarray(tensor) if tensor.dtype in (1, 2) else None
                tags.setdefault(value.tag, []).append((event.step, key, numbers))
    return tags, versions


@pytest.mark.parametrize("update_freq", [1, 3])
def test_cohort_and_keras_log_the_same(tmp_path, update_freq):
    keras.utils.set_random_seed(8)
    random = np.random.default_rng(8)
    arrays = {name: random.standard_normal((rows, 7)).astype("float32") for name, rows in (("x", 30), ("val_x", 10))}
    arrays |= {name: random.integers(0, 3, rows).astype("int32") for name, rows in (("y", 30), ("val_y", 10))}
    model = keras.Sequential([keras.Input((7,)), keras.layers.Reshape((7, 1)), keras.layers.Conv1D(4, 3, activation="relu"),
                              keras.layers.BatchNormalization(), keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    model.save(tmp_path / "model.keras")
    with h5py.File(tmp_path / "io.h5", "w") as io:
        for name, values in arrays.items():
            io[name] = values
        io.attrs.update(batch=6, epochs=3, update_freq=update_freq)
    board = keras.callbacks.TensorBoard(tmp_path / "keras", histogram_freq=1, write_images=True, write_steps_per_second=True,
                                        update_freq=update_freq, profile_batch=2)
    model.fit(arrays["x"], arrays["y"], batch_size=6, epochs=3, validation_data=(arrays["val_x"], arrays["val_y"]), shuffle=False,
              verbose=0, callbacks=[board])
    cohort("board", tmp_path / "model.keras", tmp_path / "io.h5", tmp_path / "cohort")
    for run in ("train", "validation"):
        (ours, our_versions), (theirs, their_versions) = everything_in(tmp_path / "cohort" / run), everything_in(tmp_path / "keras" / run)
        assert our_versions == their_versions == ["brain.Event:2"]
        assert sorted(ours) == sorted(theirs)
        for tag, expected in theirs.items():
            assert [(step, key) for step, key, _ in ours[tag]] == [(step, key) for step, key, _ in expected], tag
            for (_, _, seen), (_, _, wanted) in zip(ours[tag], expected):
                if wanted is None or tag.endswith("steps_per_second"):
                    continue
                if tag.endswith("/histogram"):  # a value at the edge of a bucket may fall on either side
                    assert np.abs(seen[:, 2] - wanted[:, 2]).sum() <= 2
                    seen, wanted = seen[:, :2], wanted[:, :2]
                np.testing.assert_allclose(seen, wanted, rtol=1e-3, atol=1e-4, err_msg=tag)
