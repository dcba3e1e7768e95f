"""The real TensorBoard serves what Cohort logs: every page has its data."""
import json
import shutil
import struct
import subprocess

import pytest
from board import serve
from support import cohort, program


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    cohort("events", folder)
    with serve(folder) as running:
        running.wait_for_runs(["plain", "fit/train", "fit/validation", "functional/train"])
        yield running


def enabled(board):
    return {name for name, page in board.json("plugins_listing").items() if page["enabled"]}


def png_size(image):
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", image[16:24])


def first_image(board, run, tag):
    images = board.json("plugin/images/images", run=run, tag=tag, sample=0)
    return board.get("plugin/images/individualImage?" + images[0]["query"])


def test_every_page_is_there(board):
    assert {"scalars", "histograms", "distributions", "images", "audio", "graphs", "text", "hparams"} <= enabled(board)


def test_scalars(board):
    tags = board.json("plugin/scalars/tags")
    assert "epoch_loss" in tags["fit/train"] and "evaluation_loss_vs_iterations" in tags["fit/validation"]
    points = board.json("plugin/scalars/scalars", run="plain", tag="curve")
    assert [(step, value) for _, step, value in points] == [(i, 0.5 * i) for i in range(5)]
    assert [step for _, step, _ in board.json("plugin/scalars/scalars", run="fit/train", tag="batch_loss")] == [1, 2, 3, 4, 5, 6]


def test_histograms(board):
    tag = "sequential/dense/kernel/histogram"
    assert tag in board.json("plugin/histograms/tags")["fit/train"]
    steps = board.json("plugin/histograms/histograms", run="fit/train", tag=tag)
    assert [step for _, step, _ in steps] == [0, 1]
    assert all(sum(count for _, _, count in buckets) == 20 for _, _, buckets in steps)


def test_images(board):
    tags = board.json("plugin/images/tags")
    assert tags["plain"]["pictures"]["samples"] == 4
    assert "waves" in tags["plain"]["pictures"]["description"]
    assert png_size(first_image(board, "plain", "pictures")) == (8, 6)
    assert png_size(first_image(board, "plain", "grey")) == (3, 2)
    assert png_size(first_image(board, "fit/train", "sequential/dense/kernel/image")) == (5, 4)


def test_audio(board):
    clips = board.json("plugin/audio/audio", run="plain", tag="tone", sample=0)
    sound = board.get("plugin/audio/individualAudio?" + clips[0]["query"])
    assert sound[:4] == b"RIFF" and sound[8:12] == b"WAVE" and len(sound) == 44 + 400 * 2 * 2
    assert struct.unpack("<HI", sound[22:28]) == (2, 8000)


def test_text(board):
    assert "note" in board.json("plugin/text/tags")["plain"]
    (note,) = board.json("plugin/text/text", run="plain", tag="note")
    assert note["step"] == 2 and "<h1>Title</h1>" in note["text"] and "<em>text</em>" in note["text"]


def test_hparams(board):
    experiment = board.post("plugin/hparams/experiment", {"experimentName": ""})
    assert {info["name"] for info in experiment["hparamInfos"]} == {"units", "activation", "bias"}
    groups = board.post("plugin/hparams/session_groups",
                        {"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "colParams": [{"hparam": "units"}],
                         "startIndex": 0, "sliceSize": 10})["sessionGroups"]
    assert groups[0]["hparams"] == {"units": 16, "activation": "relu", "bias": True}
    assert groups[0]["metricValues"][0]["value"] == 0.75


def nodes(board, run, **query):
    """Names of a graph's nodes, and the inputs of each."""
    graph, name = {}, None
    for line in board.get("plugin/graphs/graph", run=run, **query).decode().splitlines():
        key, _, value = line.partition(":")
        if line.startswith("  name:"):
            name = json.loads(value)
            assert name not in graph
            graph[name] = []
        elif line.startswith("  input:"):
            graph[name].append(json.loads(value).split(":")[0])
    return graph


def test_the_graph_of_the_training_step(board):
    info = board.json("plugin/graphs/info")
    assert info["fit/train"]["run_graph"] and info["functional/train"]["run_graph"]
    graph = nodes(board, "fit/train", conceptual="false")
    assert {"sequential/dense/kernel", "sequential/dense/mat_mul", "sequential/dense_1/bias", "data/input_0"} <= set(graph)
    assert "sequential/dense/read_variable" in graph["sequential/dense/mat_mul"]
    assert "sequential/dense/kernel" in graph["sequential/dense/read_variable"]
    for run in ("fit/train", "functional/train"):
        graph = nodes(board, run, conceptual="false")
        assert all(source in graph for sources in graph.values() for source in sources)
        assert {name.split("/")[0] for name in graph} & {"gradients"}


def test_the_graph_of_a_profiled_step(board):
    assert board.json("plugin/graphs/info")["fit/train"]["tags"]["batch_3"]["op_graph"]
    assert "sequential/dense/mat_mul" in nodes(board, "fit/train", tag="batch_3", conceptual="false")


def test_the_layers_of_a_model(board):
    assert board.json("plugin/graphs/info")["fit/train"]["tags"]["keras"]["conceptual_graph"]
    graph = nodes(board, "fit/train", tag="keras", conceptual="true")
    assert graph["sequential/dense_1"] == ["sequential/dense"]


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    path = program("examples/quickstart")
    if not path:
        pytest.skip("the examples were not built")
    folder = tmp_path_factory.mktemp("quickstart")
    done = subprocess.run([path, "--epochs", "2"], cwd=folder, capture_output=True, text=True, timeout=300)
    if "dataset-fashion-mnist" in done.stderr:
        pytest.skip("no Fashion-MNIST: install the package dataset-fashion-mnist")
    assert done.returncode == 0, done.stderr
    with serve(folder / "logs") as running:
        running.wait_for_runs(["train", "validation"])
        yield running


def test_the_logs_of_the_quickstart(quickstart):
    """A cluster's chief logs what one process would."""
    assert {"scalars", "histograms", "images", "graphs", "text"} <= enabled(quickstart)
    losses = quickstart.json("plugin/scalars/scalars", run="train", tag="epoch_loss")
    assert [step for _, step, _ in losses] == [0, 1] and losses[1][2] < losses[0][2] < 1.0
    accuracies = quickstart.json("plugin/scalars/scalars", run="validation", tag="epoch_accuracy")
    assert accuracies[1][2] > 0.75
    (first, second) = quickstart.json("plugin/histograms/histograms", run="train", tag="sequential/dense/kernel/histogram")
    assert sum(count for _, _, count in second[2]) == 784 * 128
    assert png_size(first_image(quickstart, "train", "sequential/dense/kernel/image")) == (784, 128)
    assert "sequential/dense/mat_mul" in nodes(quickstart, "train", conceptual="false")
    assert graph_is_chain(nodes(quickstart, "train", tag="keras", conceptual="true"))
    (text,) = quickstart.json("plugin/text/text", run="train", tag="model")
    assert "Total params" in text["text"]


def graph_is_chain(graph):
    inputs = [source for sources in graph.values() for source in sources]
    return len(graph) >= 5 and len(inputs) == len(set(inputs)) == len(graph) - 1


BROWSER = shutil.which("chromium") or shutil.which("chromium-headless-shell")


@pytest.mark.skipif(not BROWSER, reason="no Chromium: install the package chromium to see the pages drawn")
def test_a_browser_draws_scalars_histograms_and_images(board):
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=15000",
                           "--window-size=1400,1000", "--dump-dom", f"{board.url}#timeseries"],
                          capture_output=True, text=True, timeout=120)
    assert all(tag in done.stdout for tag in ("epoch_loss", "spread", "pictures"))
