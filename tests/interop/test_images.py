"""Images are decoded and resized as TensorFlow and Pillow do it, and folders of them are read as Keras reads them."""
import io
import json
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
from PIL import Image
from support import cohort

METHODS = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]


def picture(height, width, channels, noise=8, seed=0):
    """Waves with noise: smooth enough for JPEG, and no two channels alike."""
    random = np.random.default_rng([height, width, channels, seed])
    y, x = np.mgrid[:height, :width]
    waves = [127 + 100 * np.sin(x / (7 + c) + c + seed) + 40 * np.cos(y / (5 + c)) for c in range(channels)]
    return np.clip(np.stack(waves, -1) + noise * random.standard_normal((height, width, channels)), 0, 255).astype(np.uint8)


def encoded(pixels, format, mode=None, **options):
    """A file of Pillow's, as bytes; pixels are an array or Pillow's own image."""
    if not isinstance(pixels, Image.Image):
        pixels = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
        if mode:
            pixels = Image.frombytes(mode, pixels.size, pixels.tobytes())
    file = io.BytesIO()
    pixels.save(file, format, **options)
    return file.getvalue()


def ours(folder, requests):
    """What Cohort makes of pairs (file's bytes, options): an array each, or the message of a refusal."""
    asked = []
    for number, (content, options) in enumerate(requests):
        (folder / str(number)).write_bytes(content)
        asked.append({"file": str(folder / str(number)), **options})
    (folder / "requests.json").write_text(json.dumps(asked))
    told = cohort("images", "decode", folder / "requests.json", folder / "out.h5")
    refused = dict(line.split(" ", 1) for line in told.splitlines() if line[:1].isdigit())
    with h5py.File(folder / "out.h5") as out:
        return [refused[str(i)] if str(i) in refused else out[str(i)][()] for i in range(len(asked))]


def same(seen, expected, what, most=0):
    assert not isinstance(seen, str), (what, seen)
    assert seen.shape == expected.shape, what
    difference = np.abs(seen.astype(np.float64) - expected.astype(np.float64))
    assert difference.max(initial=0) <= most, (what, difference.max(), np.mean(difference > most))


def check_decoding(folder, files, channels=(0, 1, 3)):
    """Pixel by pixel as tf.image.decode_image; what that refuses is not compared."""
    cases = [(name, content, count) for name, content in files.items() for count in channels]
    seen = ours(folder, [(content, {"channels": count}) for _, content, count in cases])
    compared = 0
    for (name, content, count), image in zip(cases, seen, strict=True):
        try:
            expected = tf.image.decode_image(content, channels=count, expand_animations=False).numpy()
        except tf.errors.InvalidArgumentError:
            continue
        same(image, expected, (name, count))
        compared += 1
    assert compared >= len(files)


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_jpeg_is_decoded_alike(tmp_path, sampling, progressive):
    sizes = [(1, 1), (3, 200), (37, 53), (64, 64), (150, 201)]
    files = {size: encoded(picture(*size, 3), "JPEG", quality=40 + 11 * number, subsampling=sampling, progressive=progressive)
             for number, size in enumerate(sizes)}
    check_decoding(tmp_path, files)
    accurate = ours(tmp_path, [(content, {"channels": 3, "accurate": True}) for content in files.values()])
    for (size, content), image in zip(files.items(), accurate, strict=True):
        same(image, np.array(Image.open(io.BytesIO(content)).convert("RGB")), size)


def test_jpeg_of_other_colors_is_decoded_alike(tmp_path):
    check_decoding(tmp_path, {
        "grey": encoded(picture(40, 41, 1), "JPEG"),
        "cmyk": encoded(picture(40, 41, 4), "JPEG", "CMYK"),
        "rgb": tf.io.encode_jpeg(picture(31, 33, 3), chroma_downsampling=False, quality=97).numpy(),
        "restarts": encoded(picture(70, 90, 3), "JPEG", restart_marker_blocks=3)})


def test_jpeg_that_is_cut_off_is_refused_or_recovered_alike(tmp_path):
    whole = encoded(picture(256, 320, 3), "JPEG", subsampling="4:2:0")
    cuts = [len(whole) * part // 10 for part in range(5, 10)]
    refused = ours(tmp_path, [(whole[:cut], {"channels": 3}) for cut in cuts])
    assert all("cut off" in message for message in refused)
    recovered = ours(tmp_path, [(whole[:cut], {"channels": 3, "try_recover_truncated": True}) for cut in cuts])
    for cut, image in zip(cuts, recovered, strict=True):
        expected = tf.io.decode_jpeg(whole[:cut], 3, try_recover_truncated=True, dct_method="INTEGER_FAST").numpy()
        assert image.shape == expected.shape
        # Below, there is anything.
        same(image[:96], expected[:96], cut)


def test_png_is_decoded_alike(tmp_path):
    files = {mode: encoded(picture(37, 53, channels), "PNG", mode)
             for mode, channels in [("RGB", 3), ("RGBA", 4), ("L", 1), ("LA", 2)]}
    random = np.random.default_rng(1)
    for channels in 1, 3, 4:
        values = random.integers(0, 65536, (20, 30, channels), dtype=np.uint16)
        files[f"16 bits, {channels}"] = tf.io.encode_png(values).numpy()
    check_decoding(tmp_path, files, (0, 1, 3, 4))


def test_png_of_few_colors_is_decoded_alike(tmp_path):
    files = {"1 bit": encoded(Image.fromarray(picture(37, 53, 1)[..., 0] > 128), "PNG")}
    for colors in 2, 4, 16, 200:
        palette = Image.fromarray(picture(37, 53, 3)).quantize(colors)
        files[f"{colors} colors"] = encoded(palette, "PNG")
        files[f"{colors} colors, one transparent"] = encoded(palette, "PNG", transparency=1)
    # TensorFlow adds an alpha of 1, not 255, to pixels of 1 bit.
    check_decoding(tmp_path, files, (0, 1, 3))


def test_gif_and_bmp_are_decoded_alike(tmp_path):
    palettes = {colors: Image.fromarray(picture(37, 53, 3)).quantize(colors) for colors in (2, 4, 16, 200)}
    gifs = {(colors, interlace): encoded(palette, "GIF", interlace=interlace)
            for colors, palette in palettes.items() for interlace in (0, 1)}
    gifs["two frames"] = encoded(palettes[16], "GIF", save_all=True, append_images=[palettes[4]])
    check_decoding(tmp_path, gifs, (0, 3))
    check_decoding(tmp_path, {channels: encoded(picture(37, 53, channels), "BMP") for channels in (1, 3, 4)}, (0, 1, 3, 4))
    # TensorFlow does not know these.
    files = [encoded(palette, "BMP") for palette in palettes.values()]
    for content, image in zip(files, ours(tmp_path, [(content, {"channels": 3}) for content in files]), strict=True):
        same(image, np.array(Image.open(io.BytesIO(content)).convert("RGB")), len(content))


def test_what_is_no_image_is_refused(tmp_path):
    whole = [encoded(picture(20, 30, 3), format) for format in ("JPEG", "PNG", "GIF", "BMP")]
    for message in ours(tmp_path, [(b"", {}), (b"RIFF1234WEBP", {}), *((content[:len(content) // 2], {}) for content in whole)]):
        assert isinstance(message, str) and "file is expected" in message, message


# Keras crops for the first six only.
@pytest.mark.parametrize("shape,method", [("stretch", method) for method in METHODS] + [("pad", method) for method in METHODS] +
                         [("crop", method) for method in METHODS[:6]])
def test_images_are_resized_alike(tmp_path, shape, method):
    random = np.random.default_rng(METHODS.index(method))
    cases = []
    for channels in 1, 3, 4:
        for _ in range(10):
            height, width, *size = random.integers(1, 90, 4).tolist()
            cases.append((picture(height, width, channels, noise=30), size))
    options = {} if shape == "stretch" else {shape: True}
    seen = ours(tmp_path, [(encoded(pixels, "PNG"), {"size": size, "interpolation": method, **options}) for pixels, size in cases])
    compared = 0
    for (pixels, size), image in zip(cases, seen, strict=True):
        try:
            if shape == "crop":
                expected = keras.preprocessing.image.smart_resize(pixels, size, interpolation=method)
            elif shape == "pad":
                expected = tf.image.resize_with_pad(pixels, *size, method=method).numpy()
            else:
                expected = tf.image.resize(pixels, size, method=method).numpy()
        except (tf.errors.InvalidArgumentError, ValueError):
            continue  # nothing is left of a side
        # TensorFlow fuses products with sums, or not, and takes sums in another order.
        same(image, expected, (pixels.shape, size), 1e-3 if method in ("bilinear", "nearest") else 0.01)
        compared += 1
    assert compared > len(cases) // 2


def test_a_part_of_the_frequencies_gives_about_the_average(tmp_path):
    content = encoded(picture(800, 1200, 3, noise=20), "JPEG")
    scaled, average, plain = ours(tmp_path, [(content, {"size": [200, 300], **options}) for options in (
        {"dct_scaling": True}, {"interpolation": "area"}, {})])
    assert np.abs(scaled - average).mean() < 0.3 * np.abs(plain - average).mean()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """23 images of several formats in three classes, no two of them alike."""
    root = tmp_path_factory.mktemp("folder")
    formats = [("jpg", "JPEG"), ("png", "PNG"), ("gif", "GIF"), ("bmp", "BMP"), ("JPEG", "JPEG")]
    for number in range(23):
        ending, format = formats[number % 5]
        place = root / ["b", "B", "a/deeper"][number % 3]
        place.mkdir(parents=True, exist_ok=True)
        pixels = picture(20 + number, 40 - number, 3, seed=number)
        (place / f"{number * 7 % 23}.{ending}").write_bytes(encoded(pixels, format))
    (root / "b" / "notes.txt").write_text("no image")
    return root


def read_by_both(folder, out, **options):
    """The elements of both, as lists of lists of arrays by part, and the names of the classes by each."""
    told = {name: 0 if name == "batch_size" and value is None else value for name, value in options.items()}
    names = cohort("images", "folder", folder, json.dumps(told), out)
    with h5py.File(out) as file:
        seen = {part: [[file[part][leaf][str(i)][()] for leaf in file[part]] for i in range(len(file[part]["0"]))]
                for part in file}
    theirs = keras.utils.image_dataset_from_directory(str(folder), verbose=False, **options)
    parts = dict(zip(["dataset", "validation"], theirs if isinstance(theirs, (list, tuple)) else [theirs]))
    expected = {name: [tf.nest.flatten(element) for element in part.as_numpy_iterator()] for name, part in parts.items()}
    return seen, expected, names.splitlines(), parts["dataset"].class_names


def check_folder(seen, expected, most=1e-3):
    assert seen.keys() == expected.keys()
    for part in seen:
        assert len(seen[part]) == len(expected[part])
        for number, (element, other) in enumerate(zip(seen[part], expected[part], strict=True)):
            assert element[0].dtype == np.float32
            assert [leaf.dtype for leaf in element[1:]] == [leaf.dtype for leaf in other[1:]]
            same(element[0], other[0], (part, number), most)
            for leaf, value in zip(element[1:], other[1:], strict=True):
                np.testing.assert_array_equal(leaf, value)


def sorted_elements(elements):
    return sorted(elements, key=lambda element: element[0].sum(dtype=np.float64))


@pytest.mark.parametrize("options", [
    {}, {"label_mode": "categorical"}, {"label_mode": None}, {"labels": None, "label_mode": None},
    {"labels": list(range(23))}, {"class_names": ["b", "B"], "label_mode": "binary"}, {"class_names": ["b", "a", "B"]},
    {"color_mode": "grayscale"}, {"color_mode": "rgba"}, {"image_size": [7, 50]}, {"batch_size": None},
    {"crop_to_aspect_ratio": True, "image_size": [30, 17]}, {"pad_to_aspect_ratio": True, "image_size": [30, 17]}], ids=str)
def test_a_folder_is_read_in_keras_order(folder, tmp_path, options):
    if options.get("color_mode", "rgb") != "rgb":
        # TensorFlow gives these numbers of channels of PNG alone, and grey ones of JPEG.
        for number in range(9):
            place = tmp_path / "images" / f"class{number % 2}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number}.png").write_bytes(encoded(picture(9 + number, 12, 3 + number % 2), "PNG"))
        folder = tmp_path / "images"
    options = {"image_size": [24, 24], "batch_size": 5, "shuffle": False, **options}
    seen, expected, names, class_names = read_by_both(folder, tmp_path / "out.h5", **options)
    check_folder(seen, expected)
    assert names == (class_names or [])


@pytest.mark.parametrize("method", METHODS)
def test_a_folder_is_resized_by_any_method(folder, tmp_path, method):
    seen, expected, _, _ = read_by_both(folder, tmp_path / "out.h5", interpolation=method, shuffle=False, image_size=[24, 30])
    check_folder(seen, expected, 1e-3 if method == "bilinear" else 1)


@pytest.mark.parametrize("subset", ["training", "validation", "both"])
@pytest.mark.parametrize("seed,split", [(0, 0.2), (5, 0.5), (4294967295, 0.34)])
def test_a_folder_is_split_alike(folder, tmp_path, subset, seed, split):
    seen, expected, _, _ = read_by_both(folder, tmp_path / "out.h5", subset=subset, seed=seed, validation_split=split,
                                        batch_size=None, image_size=[16, 16])
    # The first of them is shuffled anew for every epoch, by a generator of its own.
    check_folder({**seen, "dataset": sorted_elements(seen["dataset"])},
                 {**expected, "dataset": sorted_elements(expected["dataset"])})
