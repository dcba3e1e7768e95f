"""Layers that prepare features and texts, with adapt() and the options that the common fixtures leave out."""
import numpy as np
from keras import layers as L

from spec import Draw, Layer as C, given, ids, u, x


def adapted(*shape, scale=2.0, shift=1.0):
    def prepare(layer, rng):
        data = (rng.standard_normal(shape) * scale + shift).astype(np.float32)
        layer.adapt(data)
        return data
    return prepare


def learned(data):
    def prepare(layer, rng):
        values = np.asarray(data)
        if values.dtype.kind == "U":
            values = values.astype(object)
        layer.adapt(values)
        return values
    return prepare


words = given([["ant", "bee"], ["cat", "ant"], ["dog", ""]])
long_words = given([["a", "antelope"], ["a word of more than 16", "a text that is longer than 32 bytes, and less than 64"],
                    ["x" * 64, "y" * 65], ["z" * 200, "the quick brown fox jumps over the lazy dog " * 5], ["ünï", "12345678"]])
texts = given(["The cat sat.", "the DOG, the dog!", "  on\ta mat ", ""])
corpus = ["the cat sat on the mat", "the dog ate the cat", "a dog, a cat & a bird", "birds fly"]
animals = [["ant", "bee", "cat"], ["bee", "cat", "bee"], ["emu", "ant", "bee"]]

LAYERS = [
    C("two_axes", lambda: L.Normalization(axis=(1, 2)), x(3, 2, 4), prepare=adapted(10, 2, 4)),
    C("first_axis", lambda: L.Normalization(axis=1), x(3, 2, 4), prepare=adapted(10, 2, 4)),
    C("invert_adapted", lambda: L.Normalization(invert=True), x(4, 3), prepare=adapted(12, 3)),
    C("given_scalar", lambda: L.Normalization(mean=1.5, variance=4.0), x(3, 2)),
    C("given_none", lambda: L.Normalization(axis=None, mean=-0.5, variance=0.25), x(3, 2, 2)),
    C("given_last", lambda: L.Normalization(axis=(1, 2), mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0]), x(2, 2, 3)),
    C("zero_variance", lambda: L.Normalization(mean=[0.0, 1.0], variance=[0.0, 1.0]), given([[0.0, 2.0], [1e-7, 3.0]])),
    C("one_hot", lambda: L.CategoryEncoding(4, output_mode="one_hot"), ids(5, 1, high=4)),
    C("one_hot_steps", lambda: L.CategoryEncoding(4, output_mode="one_hot"), ids(3, 2, high=4)),
    C("multi_hot_cube", lambda: L.CategoryEncoding(5), ids(3, 4, 2, high=5)),
    C("count_cube", lambda: L.CategoryEncoding(5, output_mode="count"), ids(3, 4, 2, high=5)),
    C("one_hot", lambda: L.Discretization([-0.5, 0.5], output_mode="one_hot"), x(5, 1)),
    C("multi_hot", lambda: L.Discretization([-0.5, 0.0, 0.5], output_mode="multi_hot"), x(4, 3)),
    C("count", lambda: L.Discretization([0.0, 1.0], output_mode="count"), x(4, 5)),
    C("on_the_edge", lambda: L.Discretization([0.1, 0.5, 2.0]), given([[0.1, 0.5, 2.0], [0.0999999, 0.4999999, 1.9999999]])),
    C("adapted", lambda: L.Discretization(num_bins=4), x(4, 3), prepare=adapted(60)),
    C("adapted_large", lambda: L.Discretization(num_bins=5, epsilon=0.05), x(4, 3), prepare=adapted(130, 3)),
    C("adapted_small", lambda: L.Discretization(num_bins=20), x(4, 3), prepare=adapted(9)),
    C("strings", lambda: L.Hashing(17), long_words),
    C("salted", lambda: L.Hashing(11, salt=1337), long_words),
    C("negative_ints", lambda: L.Hashing(7), given([[-1, 0, 123456789], [2147483647, -2147483648, 10]])),
    C("floats", lambda: L.Hashing(5), x(3, 4, scale=50.0)),
    C("masked_strings", lambda: L.Hashing(4, mask_value=""), words),
    C("masked_ints", lambda: L.Hashing(4, mask_value=3, salt=[7, 9]), ids(4, 3, high=6)),
    C("one_hot", lambda: L.Hashing(4, output_mode="one_hot"), given([["ant"], ["bee"], ["cat"]])),
    C("multi_hot", lambda: L.Hashing(4, output_mode="multi_hot"), words),
    C("count", lambda: L.Hashing(3, output_mode="count", dtype="float32"), ids(3, 5, high=30)),
    C("mask_oov", lambda: L.StringLookup(vocabulary=["ant", "bee"], mask_token="", num_oov_indices=3), words),
    C("salted_oov", lambda: L.StringLookup(vocabulary=["bee"], num_oov_indices=4, salt=3), words),
    C("special_tokens", lambda: L.StringLookup(vocabulary=["", "[UNK]", "ant", "bee"], mask_token=""), words),
    C("invert", lambda: L.StringLookup(vocabulary=["ant", "bee", "cat"], mask_token="", invert=True), ids(3, 4, high=7)),
    C("one_hot", lambda: L.StringLookup(vocabulary=["ant", "bee", "cat"], output_mode="one_hot"), given([["ant"], ["cat"], ["fly"]])),
    C("multi_hot_mask", lambda: L.StringLookup(vocabulary=["ant", "bee"], mask_token="", output_mode="multi_hot"), words),
    C("tf_idf", lambda: L.StringLookup(vocabulary=["ant", "bee", "cat"], idf_weights=[0.5, 1.5, 2.5], output_mode="tf_idf"), words),
    C("tf_idf_padded", lambda: L.StringLookup(max_tokens=7, vocabulary=["ant", "bee"], idf_weights=[0.5, 1.5], output_mode="tf_idf",
                                              pad_to_max_tokens=True), words),
    C("adapted", lambda: L.StringLookup(), words, prepare=learned(animals)),
    C("adapted_max", lambda: L.StringLookup(max_tokens=3, output_mode="count"), words, prepare=learned(animals)),
    C("adapted_tf_idf", lambda: L.StringLookup(output_mode="tf_idf"), words, prepare=learned(animals)),
    C("floormod", lambda: L.IntegerLookup(vocabulary=[5, 7], num_oov_indices=3), given([[5, 7, -1], [-7, 100, 6]])),
    C("farmhash", lambda: L.IntegerLookup(vocabulary=[5, 7], num_oov_indices=3, oov_method="farmhash", mask_token=0), ids(3, 4, high=9)),
    C("farmhash_salt", lambda: L.IntegerLookup(vocabulary=[5, 7], num_oov_indices=5, oov_method="farmhash", salt=[1, 2]), ids(3, 4, high=99)),
    C("invert", lambda: L.IntegerLookup(vocabulary=[5, 7, 11], invert=True, mask_token=0), ids(3, 4, high=7)),
    C("padded_count", lambda: L.IntegerLookup(max_tokens=6, vocabulary=[1, 2], output_mode="count", pad_to_max_tokens=True), ids(3, 4, high=4)),
    C("adapted", lambda: L.IntegerLookup(mask_token=0), ids(3, 4, high=7), prepare=learned([[1, 5, 5], [0, 1, 6], [5, 3, 3]])),
    C("longest", lambda: L.TextVectorization(vocabulary=["the", "cat"]), texts),
    C("column", lambda: L.TextVectorization(vocabulary=["the", "cat", "dog"], output_sequence_length=3), given([["the cat"], ["a dog the dog the"]])),
    C("characters", lambda: L.TextVectorization(vocabulary=["t", "h", "é"], split="character", output_sequence_length=6), given(["The é", "häh"])),
    C("bigrams", lambda: L.TextVectorization(vocabulary=["the", "the cat", "cat sat"], ngrams=2), texts),
    C("only_bigrams", lambda: L.TextVectorization(vocabulary=["the dog", "dog the"], ngrams=(2,), output_mode="count"), texts),
    C("strip", lambda: L.TextVectorization(vocabulary=["The", "DOG"], standardize="strip_punctuation", output_mode="multi_hot"), texts),
    C("plain", lambda: L.TextVectorization(vocabulary=["sat.", "dog!"], standardize=None, output_mode="count"), texts),
    C("tf_idf", lambda: L.TextVectorization(vocabulary=["the", "cat"], idf_weights=[0.3, 1.2], output_mode="tf_idf"), texts),
    C("adapted", lambda: L.TextVectorization(), texts, prepare=learned(corpus)),
    C("adapted_max", lambda: L.TextVectorization(max_tokens=5, output_mode="count", pad_to_max_tokens=True), texts, prepare=learned(corpus)),
    C("adapted_tf_idf", lambda: L.TextVectorization(output_mode="tf_idf", ngrams=2), texts, prepare=learned(corpus)),
]
STATS = []
