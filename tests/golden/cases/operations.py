"""Functional models of single operations of keras.ops, as files hold them: one case for each that is no layer."""
import keras
import numpy as np
from keras import activations
from keras import ops as O

from spec import Layer, given, ids, onehot, prob, u, x

STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = CALLBACKS = TENSORBOARD = []


def model(tag, function, *draws, dtypes=(None, None)):
    def make():
        inputs = [keras.Input(draw.shape[1:], dtype=dtype) for draw, dtype in zip(draws, dtypes)]
        return keras.Model(inputs if len(inputs) > 1 else inputs[0], function(*inputs))
    return Layer(tag, make, list(draws) if len(draws) > 1 else draws[0])


def array(*shape):
    return np.random.default_rng(sum(shape)).uniform(0.2, 1.2, shape).astype("float32")


IMAGE = x(2, 6, 5, 3)
NAN = given(np.array([[1.0, np.nan, 3.0, -2.0], [np.nan, 0.5, 2.0, 4.0]], "float32"))

LAYERS = [
    model("relu", lambda a: activations.relu(a), x(2, 5)),
    model("relu_options", lambda a: activations.relu(a, negative_slope=0.1, max_value=1.5, threshold=0.2), x(2, 5)),
    model("pad", lambda a: O.pad(a, [[0, 0], [1, 2]], constant_values=3.0), x(2, 5)),
    model("pad_reflect", lambda a: O.pad(a, ((0, 0), (2, 1)), mode="reflect"), x(2, 5)),
    model("normalize", lambda a: O.normalize(a, axis=1), x(2, 5)),
    model("normalize_order", lambda a: O.normalize(a, axis=-1, order=3), x(2, 5)),
    model("norm", lambda a: O.norm(a, axis=1), x(2, 5)),
    model("norm_one", lambda a: O.norm(a, ord=1, axis=-1, keepdims=True), x(2, 5)),
    model("norm_frobenius", lambda a: O.norm(a, ord="fro", axis=(1, 2)), x(2, 5, 3)),
    model("norm_matrix", lambda a: O.norm(a, ord=1, axis=(1, 2)), x(2, 5, 3)),
    model("max_pool", lambda a: O.max_pool(a, 2, 2), IMAGE),
    model("average_pool", lambda a: O.average_pool(a, (2, 3), (1, 2), padding="same"), IMAGE),
    model("adaptive_pool", lambda a: O.adaptive_average_pool(a, (2, 3)), IMAGE),
    model("conv", lambda a: O.conv(a, array(3, 2, 3, 4), strides=2, padding="same"), IMAGE),
    model("conv_of_both", lambda a, b: O.conv(a, b[0]), x(2, 7, 3), given(array(1, 2, 3, 4))),
    model("depthwise_conv", lambda a: O.depthwise_conv(a, array(2, 2, 3, 2)), IMAGE),
    model("separable_conv", lambda a: O.separable_conv(a, array(2, 2, 3, 1), array(1, 1, 3, 4)), IMAGE),
    model("layer_norm", lambda a: O.layer_normalization(a, array(5), array(5)), x(2, 5)),
    model("layer_norm_axes", lambda a: O.layer_normalization(a, axis=[1, 2], epsilon=1e-3), x(2, 5, 3)),
    model("rms_norm", lambda a: O.rms_normalization(a, array(5), epsilon=1e-3), x(2, 5)),
    model("batch_norm", lambda a: O.batch_normalization(a, array(3), array(3), -1, array(3), array(3)), IMAGE),
    model("moments", lambda a: O.moments(a, axes=[1])[1], x(2, 5)),
    model("top_k", lambda a: O.top_k(a, 3)[0], x(2, 5)),
    model("tril", lambda a: O.tril(a, k=1), x(2, 4, 5)),
    model("triu", lambda a: O.triu(a), x(2, 4, 5)),
    model("trace", lambda a: O.trace(a, offset=1, axis1=1, axis2=2), x(2, 4, 5)),
    model("diagonal", lambda a: O.diagonal(a, offset=-1, axis1=1, axis2=2), x(2, 4, 5)),
    model("attention", lambda a: O.dot_product_attention(a, a * 2.0, a, is_causal=True), x(2, 4, 2, 3)),
    model("attention_scale", lambda a: O.dot_product_attention(a, a, a, scale=0.3), x(2, 4, 2, 3)),
    model("resize", lambda a: O.image.resize(a, (4, 7)), IMAGE),
    model("grayscale", lambda a: O.image.rgb_to_grayscale(a), IMAGE),
    model("patches", lambda a: O.image.extract_patches(a, (2, 2), padding="same"), IMAGE),
    model("unstack", lambda a: O.unstack(a, axis=1)[1], x(2, 3, 4)),
    model("array_split", lambda a: O.array_split(a, 3, axis=1)[0], x(2, 7)),
    model("hstack", lambda a: O.hstack([a, a * 2.0]), x(2, 5)),
    model("append", lambda a, b: O.append(a, b, axis=1), x(2, 5), x(2, 3)),
    model("diff", lambda a: O.diff(a, n=2), x(2, 6)),
    model("rotate", lambda a: O.rot90(a, k=3, axes=(1, 2)), x(2, 3, 4)),
    model("select", lambda a: O.select([a < -0.5, a > 0.5], [a * 2.0, a + 1.0], 0.25), x(2, 6)),
    model("full_like", lambda a: a * O.full_like(a, 2.5), x(2, 5)),
    model("slice", lambda a: O.slice(a, [0, 1], [2, 3]), x(2, 6)),
    model("hypot", lambda a, b: O.hypot(a, b), x(2, 5), x(2, 5)),
    model("logaddexp", lambda a, b: O.logaddexp(a, b), x(2, 5), x(2, 5)),
    model("heaviside", lambda a: O.heaviside(a, array(5)), x(2, 5)),
    model("divide_no_nan", lambda a, b: O.divide_no_nan(a, b), x(2, 3), given([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]])),
    model("inner", lambda a, b: O.inner(a, b), x(2, 5), x(2, 5)),
    model("outer", lambda a: O.outer(a, array(3)), x(2, 5)),
    model("sinc", lambda a: O.sinc(a), given([[0.9, 0.3, -1.2], [2.0, 0.5, -0.1]])),
    model("exp2", lambda a: O.exp2(a) + O.deg2rad(a) + O.rad2deg(a), x(2, 5)),
    model("cube_root", lambda a: O.cbrt(a), x(2, 5)),
    model("no_nan", lambda a: O.nan_to_num(a, nan=0.5), NAN),
    model("nan_sum", lambda a: O.nansum(a, axis=1) + O.nanmean(a, axis=1) + O.nanmax(a, axis=1) + O.nanmin(a, axis=1), NAN),
    model("median", lambda a: O.median(a, axis=1, keepdims=True), x(2, 6)),
    model("average", lambda a: O.average(a, axis=1, weights=array(5)), x(2, 5)),
    model("count_nonzero", lambda a: O.cast(O.count_nonzero(a, axis=1), "float32"), given([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])),
    model("amax", lambda a: O.amax(a, axis=(1, 2)) - O.amin(a, axis=(1, 2)), x(2, 4, 3)),
    model("binary", lambda a, b: O.binary_crossentropy(a, b), u(2, 5), u(2, 5, lo=0.1, hi=0.9)),
    model("categorical", lambda a, b: O.categorical_crossentropy(a, b, from_logits=True), onehot(3, 4), x(3, 4)),
    model("sparse_categorical", lambda a, b: O.sparse_categorical_crossentropy(a, b), ids(3, high=4), prob(3, 4),
          dtypes=("int32", None)),
    model("multi_hot", lambda a: O.multi_hot(a, 6), ids(3, 4, high=6), dtypes=("int32",)),
    model("depth_to_space", lambda a: O.depth_to_space(a, 2), x(2, 3, 2, 8)),
    model("space_to_depth", lambda a: O.space_to_depth(a, 2), x(2, 4, 6, 3)),
    model("noise_ratio", lambda a, b: O.psnr(a, b, 2.0), u(2, 5), u(2, 5)),
    model("is_close", lambda a: O.cast(O.isclose(a, 0.5, rtol=0.5), "float32"), u(2, 5)),
]
