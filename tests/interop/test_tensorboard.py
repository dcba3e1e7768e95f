"""The real TensorBoard reads what Cohort logs."""
import numpy as np
import pytest
from support import cohort
from tensorboard.backend.event_processing import event_accumulator
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
    assert sorted(run.Tags()["tensors"]) == ["curve", "note", "spread"]
    assert [plugin(run, tag) for tag in ("curve", "note", "spread")] == ["scalars", "text", "histograms"]
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
    assert sorted(train.Tags()["tensors"]) == sorted(scalars + weights + ["keras"])
    assert sorted(validation.Tags()["tensors"]) == [
        "epoch_accuracy", "epoch_loss", "evaluation_accuracy_vs_iterations", "evaluation_loss_vs_iterations"]
    assert plugin(train, "keras") == "graph_keras_model"
    assert [step for step, _ in values(train, "batch_loss")] == [1, 2, 3, 4, 5, 6]
    assert [step for step, _ in values(train, "epoch_loss")] == [0, 1]
    assert [step for step, _ in values(validation, "evaluation_loss_vs_iterations")] == [3, 6]
    np.testing.assert_allclose([value for _, value in values(train, "epoch_learning_rate")], 0.05, rtol=1e-6)


def test_the_file_version_comes_first(logs):
    for folder in (logs / "plain", logs / "fit" / "train"):
        (file,) = folder.iterdir()
        assert file.name.startswith("events.out.tfevents.") and file.name.endswith(".v2")
        assert read(folder).file_version == 2.0
