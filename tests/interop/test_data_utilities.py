"""Data utilities split, cut, pad and decode as Keras's do, for the same seeds."""
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras
import numpy as np
import pytest
import tensorflow as tf
from support import cohort


def printed(*arguments):
    """The elements that Cohort prints, by their name: lists of leaves, each a list of words."""
    found = {}
    for line in cohort("data", *arguments).splitlines():
        if "[" not in line and not line.startswith("class"):
            continue
        name, _, rest = line.partition(" ")
        leaves = [leaf.split() for leaf in rest.replace("]", "").split("[")[1:]] if "[" in rest else rest
        found.setdefault(name, []).append(leaves)
    return found


def numbers(elements):
    return [[[float(word) for word in leaf] for leaf in element] for element in elements]


def flat(dataset):
    return [[np.ravel(leaf).tolist() for leaf in tf.nest.flatten(element)] for element in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("seed,split", [(0, 0.2), (5, 0.5), (4294967295, 0.34)])
def test_texts_are_split_alike(tmp_path, seed, split):
    for i in range(23):
        folder = tmp_path / ["b", "B", "é", "a/c"][i % 4]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i * 7 % 23}.txt").write_text(f"text{i}")
    training, validation = keras.utils.text_dataset_from_directory(
        str(tmp_path), batch_size=None, seed=seed, validation_split=split, subset="both", verbose=False)
    ours = printed("texts", tmp_path, seed, split)
    pairs = lambda dataset: [[[x.decode()], [str(y)]] for x, y in dataset.as_numpy_iterator()]
    assert ours["validation"] == pairs(validation)
    assert sorted(ours["training"]) == sorted(pairs(training))
    assert ours["class"] == training.class_names


@pytest.mark.parametrize("length", [-1, 5, 40])
def test_sounds_are_decoded_alike(tmp_path, length):
    random = np.random.default_rng(3)
    for i in range(7):
        folder = tmp_path / f"class{i % 2}"
        folder.mkdir(exist_ok=True)
        samples = random.uniform(-1, 1, (4 * i + 1, 1 + i // 6)).astype("float32")
        (folder / f"{i}.wav").write_bytes(tf.audio.encode_wav(samples, 16000).numpy())
    theirs = keras.utils.audio_dataset_from_directory(
        str(tmp_path), batch_size=3, shuffle=False, verbose=False,
        output_sequence_length=None if length < 0 else length) if length < 0 else None
    if length >= 0:
        # Batches of one length need one number of channels.
        os.remove(tmp_path / "class0" / "6.wav")
        theirs = keras.utils.audio_dataset_from_directory(
            str(tmp_path), batch_size=3, shuffle=False, verbose=False, output_sequence_length=length)
    assert numbers(printed("sounds", tmp_path, length)["sounds"]) == [
        [[float(f"{value:.9g}") for value in leaf] for leaf in element] for element in flat(theirs)]


@pytest.mark.parametrize("steps,length,stride,rate,start,end", [(50, 4, 1, 1, 0, 49), (40, 5, 3, 2, 4, 31), (9, 9, 1, 1, 0, 8)])
def test_windows_are_the_same(steps, length, stride, rate, start, end):
    theirs = keras.utils.timeseries_dataset_from_array(
        np.arange(steps), np.arange(steps), length, sequence_stride=stride, sampling_rate=rate, start_index=start,
        end_index=end, batch_size=None)
    assert numbers(printed("series", steps, length, stride, rate, start, end, -1).get("series", [])) == flat(theirs)
    ours = numbers(printed("series", steps, length, stride, rate, start, end, 3).get("series", []))
    assert sorted(ours) == sorted(flat(theirs))


@pytest.mark.parametrize("seed", [0, 7, 1 << 40])
def test_a_dataset_is_split_alike(seed):
    left, right = keras.utils.split_dataset(np.arange(31), left_size=0.3, shuffle=True, seed=seed)
    ours = printed("split", 31, 0.3, seed)
    assert numbers(ours["left"]) == flat(left)
    assert numbers(ours["right"]) == flat(right)


@pytest.mark.parametrize("maxlen", [1, 3, 8])
@pytest.mark.parametrize("padding", ["pre", "post"])
@pytest.mark.parametrize("truncating", ["pre", "post"])
def test_sequences_are_padded_alike(maxlen, padding, truncating):
    theirs = keras.utils.pad_sequences([list(range(i)) for i in range(6)], maxlen=maxlen, padding=padding,
                                       truncating=truncating, value=7)
    assert numbers(printed("pad", maxlen, padding, truncating)["padded"]) == [[np.ravel(theirs).tolist()]]
