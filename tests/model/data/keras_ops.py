"""Writes keras_ops.json: what the real Keras 3.15.1 (TensorFlow 2.21, CPU) computes for the cases of keras_ops_test.cpp.

Usage: python3 keras_ops.py > keras_ops.json
"""
import json
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
from keras import activations as A
from keras import ops as O

x = np.array([[0.1, 0.5, -0.9], [0.3, -0.7, 0.2]], "float32")
y = np.array([[1.5, -2.0, 0.25], [0.0, 3.0, -1.0]], "float32")
p = np.array([[0.2, 1.5, 3.0], [0.7, 2.5, 0.4]], "float32")
q = np.array([[0.2, 0.5, 0.3], [0.7, 0.1, 0.2]], "float32")
t = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], "float32")
ids = np.array([[0, 2, 1], [1, 1, 0]], "int32")
one = np.array([2, 1], "int32")
w = np.array([[1.0, np.nan, np.inf, -2.0], [-np.inf, 0.5, 2.0, np.nan]], "float32")
m = (np.arange(24, dtype="float32").reshape(2, 3, 4) * 7 % 11 - 4) / 4
img = (np.arange(128, dtype="float32").reshape(2, 4, 4, 4) * 5 % 17 - 6) / 5
kernel = (np.arange(32, dtype="float32").reshape(2, 2, 4, 2) * 3 % 7 - 3) / 4
wide = (np.arange(16, dtype="float32").reshape(2, 2, 4, 1) % 5 - 2) / 4
point = (np.arange(8, dtype="float32").reshape(1, 1, 4, 2) % 3 - 1) / 2
back = (np.arange(32, dtype="float32").reshape(2, 2, 2, 4) * 3 % 7 - 3) / 4
three = np.array([0.5, 1.0, 2.0], "float32")

CASES = {
    # defaults and meanings that are easily taken for others
    "concatenate": lambda: O.concatenate([x, y]),
    "concatenate_last": lambda: O.concatenate([x, y], axis=-1),
    "concatenate_mixed": lambda: O.concatenate([ids, x, y > 0]),
    "concatenate_integers": lambda: O.concatenate([ids > 0, ids], axis=1),
    "stack_mixed": lambda: O.stack([ids, x], axis=1),
    "split_sections": lambda: O.split(m, 2),
    "split_indices": lambda: O.split(m, [1, 3], axis=2),
    "split_one_index": lambda: O.split(m, [1], axis=1),
    "gelu": lambda: O.gelu(y),
    "gelu_exact": lambda: O.gelu(y, approximate=False),
    "argmax": lambda: O.argmax(y),
    "argmax_keepdims": lambda: O.argmax(y, keepdims=True),
    "argmax_axis": lambda: O.argmax(y, axis=1),
    "argmin": lambda: O.argmin(y),
    "argmin_axis": lambda: O.argmin(y, axis=0, keepdims=True),
    "take": lambda: O.take(x, ids),
    "take_axis": lambda: O.take(x, ids, axis=1),
    "take_negative": lambda: O.take(x, ids - 2, axis=1),
    "take_along_axis": lambda: O.take_along_axis(x, one),
    "take_along_axis_axis": lambda: O.take_along_axis(x, ids - 1, axis=1),
    "cumsum": lambda: O.cumsum(x),
    "cumsum_axis": lambda: O.cumsum(x, axis=1),
    "cumprod": lambda: O.cumprod(p),
    "cumsum_bool": lambda: O.cumsum(x > 0, axis=1),
    "repeat": lambda: O.repeat(x, 2),
    "repeat_axis": lambda: O.repeat(x, 2, axis=1),
    "roll": lambda: O.roll(x, 1),
    "roll_axis": lambda: O.roll(x, 1, axis=1),
    "expand_dims_list": lambda: O.expand_dims(x, [-1, 1]),
    "moveaxis_list": lambda: O.moveaxis(img, [1, 3], [-1, 1]),
    "round": lambda: O.round(y * 2.5),
    "round_decimals": lambda: O.round(x * 1.234, decimals=1),
    "round_integers": lambda: O.round(ids),
    "layer_normalization": lambda: O.layer_normalization(x * 0.001),
    "layer_normalization_weights": lambda: O.layer_normalization(x, three, three * 2),
    "layer_normalization_axes": lambda: O.layer_normalization(m, axis=[1, 2], epsilon=0.01),
    "layer_normalization_rms": lambda: O.layer_normalization(x, three, rms_scaling=True),
    "unstack": lambda: O.unstack(m, axis=1),
    # other names
    "absolute": lambda: O.absolute(y),
    "amax": lambda: O.amax(m, axis=(1, 2)),
    "amin": lambda: O.amin(m),
    "arccos": lambda: O.arccos(x),
    "arccosh": lambda: O.arccosh(p + 1),
    "arcsin": lambda: O.arcsin(x),
    "arcsinh": lambda: O.arcsinh(y),
    "arctan": lambda: O.arctan(y),
    "arctan2": lambda: O.arctan2(x, y),
    "arctanh": lambda: O.arctanh(x),
    "batch_normalization": lambda: O.batch_normalization(x, three, three * 2, -1, three * 3, three * 4),
    "isfinite": lambda: O.isfinite(w),
    "isinf": lambda: O.isinf(w),
    "isnan": lambda: O.isnan(w),
    "power": lambda: O.power(p, y),
    "std": lambda: O.std(m, axis=1),
    "var": lambda: O.var(m, axis=[1, 2], keepdims=True),
    "true_divide": lambda: O.true_divide(x, p),
    "swish": lambda: O.swish(y),
    "hard_swish": lambda: O.hard_swish(y),
    # activations
    "celu": lambda: O.celu(y, 0.7),
    "elu": lambda: O.elu(y),
    "glu": lambda: O.glu(m),
    "hard_shrink": lambda: O.hard_shrink(x),
    "hard_sigmoid": lambda: O.hard_sigmoid(y),
    "hard_silu": lambda: O.hard_silu(y),
    "hard_tanh": lambda: O.hard_tanh(y),
    "leaky_relu": lambda: O.leaky_relu(y),
    "log_sigmoid": lambda: O.log_sigmoid(y),
    "selu": lambda: O.selu(y),
    "silu": lambda: O.silu(y),
    "soft_shrink": lambda: O.soft_shrink(x, 0.2),
    "softsign": lambda: O.softsign(y),
    "sparse_plus": lambda: O.sparse_plus(y),
    "sparse_sigmoid": lambda: O.sparse_sigmoid(x),
    "sparsemax": lambda: O.sparsemax(y),
    "squareplus": lambda: O.squareplus(y),
    "tanh_shrink": lambda: O.tanh_shrink(y),
    "threshold": lambda: O.threshold(x, 0.15, -2.0),
    "softmax": lambda: O.softmax(y),
    "log_softmax": lambda: O.log_softmax(y, axis=0),
    "activations_gelu": lambda: A.gelu(y),
    "activations_relu": lambda: A.relu(y, negative_slope=0.1, max_value=1.2, threshold=0.2),
    "activations_mish": lambda: A.mish(O.convert_to_tensor(y)),
    "activations_softsign": lambda: A.softsign(y),
    # what files hold
    "append": lambda: O.append(x, y),
    "append_axis": lambda: O.append(x, y, axis=1),
    "array_split": lambda: O.array_split(m, 3, axis=2),
    "average": lambda: O.average(x, axis=1, weights=three),
    "average_all": lambda: O.average(x),
    "binary_crossentropy": lambda: O.binary_crossentropy(t, q),
    "categorical_crossentropy": lambda: O.categorical_crossentropy(t, p),
    "categorical_crossentropy_logits": lambda: O.categorical_crossentropy(t, y, from_logits=True),
    "sparse_categorical_crossentropy": lambda: O.sparse_categorical_crossentropy(one, q),
    "cbrt": lambda: O.cbrt(y),
    "conj": lambda: O.conj(x),
    "conjugate": lambda: O.conjugate(x),
    "copy": lambda: O.copy(x),
    "real": lambda: O.real(x),
    "deg2rad": lambda: O.deg2rad(y),
    "rad2deg": lambda: O.rad2deg(y),
    "depth_to_space": lambda: O.depth_to_space(img, 2),
    "space_to_depth": lambda: O.space_to_depth(img, 2),
    "diagonal": lambda: O.diagonal(m, offset=1, axis1=1, axis2=2),
    "diff": lambda: O.diff(m, n=2),
    "divide_no_nan": lambda: O.divide_no_nan(x, y),
    "dsplit": lambda: O.dsplit(m, 2),
    "hsplit": lambda: O.hsplit(m, [1]),
    "vsplit": lambda: O.vsplit(m, 2),
    "dstack": lambda: O.dstack([x, y]),
    "hstack": lambda: O.hstack([x, y]),
    "vstack": lambda: O.vstack([x, y]),
    "exp2": lambda: O.exp2(y),
    "fabs": lambda: O.fabs(y),
    "fliplr": lambda: O.fliplr(x),
    "flipud": lambda: O.flipud(x),
    "fmax": lambda: O.fmax(w, 0.75),
    "fmin": lambda: O.fmin(w, 0.75),
    "fmod": lambda: O.fmod(y, p),
    "heaviside": lambda: O.heaviside(y, 0.5),
    "hypot": lambda: O.hypot(x, y),
    "inner": lambda: O.inner(x, y),
    "outer": lambda: O.outer(x, y),
    "vdot": lambda: O.vdot(x, y),
    "isclose": lambda: O.isclose(x, y, rtol=0.5, atol=0.3),
    "isneginf": lambda: O.isneginf(w),
    "isposinf": lambda: O.isposinf(w),
    "logaddexp": lambda: O.logaddexp(x, y),
    "logaddexp2": lambda: O.logaddexp2(x, y),
    "median": lambda: O.median(m, axis=2),
    "median_all": lambda: O.median(x, keepdims=True),
    "moments": lambda: O.moments(m, axes=[1]),
    "multi_hot": lambda: O.multi_hot(ids, 4),
    "nan_to_num": lambda: O.nan_to_num(w, nan=0.25, posinf=9.0),
    "nanmax": lambda: O.nanmax(w, axis=1),
    "nanmin": lambda: O.nanmin(w, axis=1),
    "nanmean": lambda: O.nanmean(O.where(O.isinf(w), 1.0, w), axis=1),
    "nansum": lambda: O.nansum(O.where(O.isinf(w), 1.0, w), axis=0),
    "nanprod": lambda: O.nanprod(O.where(O.isinf(w), 1.0, w)),
    "norm": lambda: O.norm(x),
    "norm_vector": lambda: O.norm(m, ord=3, axis=2),
    "norm_matrix": lambda: O.norm(m, ord=1, axis=(1, 2)),
    "norm_frobenius": lambda: O.norm(m, ord="fro", axis=(1, 2), keepdims=True),
    "normalize": lambda: O.normalize(x),
    "normalize_order": lambda: O.normalize(x, axis=1, order=3),
    "psnr": lambda: O.psnr(O.convert_to_tensor(x), O.convert_to_tensor(y), 2.0),
    "ptp": lambda: O.ptp(m, axis=2),
    "ravel": lambda: O.ravel(m),
    "rms_normalization": lambda: O.rms_normalization(x, three),
    "rot90": lambda: O.rot90(m, k=3, axes=(1, 2)),
    "saturate_cast": lambda: O.saturate_cast(y * 200, "uint8"),
    "select": lambda: O.select([x < -0.5, x > 0.2], [y, p], 7.0),
    "sinc": lambda: O.sinc(y),
    "trace": lambda: O.trace(m, axis1=1, axis2=2),
    "tril": lambda: O.tril(m, k=1),
    "triu": lambda: O.triu(m),
    # what had no form for symbols
    "adaptive_average_pool": lambda: O.adaptive_average_pool(O.convert_to_tensor(img), (2, 3)),
    "adaptive_max_pool": lambda: O.adaptive_max_pool(O.convert_to_tensor(img), (2, 3)),
    "average_pool": lambda: O.average_pool(img, 2, strides=1, padding="same"),
    "max_pool": lambda: O.max_pool(img, 2),
    "max_pool_channels_first": lambda: O.max_pool(img, 2, data_format="channels_first"),
    "conv": lambda: O.conv(img, kernel, strides=2, padding="same"),
    "conv_transpose": lambda: O.conv_transpose(img, back, strides=2),
    "depthwise_conv": lambda: O.depthwise_conv(img, wide),
    "separable_conv": lambda: O.separable_conv(img, wide, point),
    "count_nonzero": lambda: O.count_nonzero(y, axis=1),
    "ctc_loss": lambda: O.ctc_loss(ids[:, :2] + 1, img[:, :, 0, :], one * 0 + 2, one * 0 + 4),
    "dot_product_attention": lambda: O.dot_product_attention(img, img * 2.0, img, is_causal=True),
    "full_like": lambda: O.full_like(x, 2.5),
    "pad": lambda: O.pad(x, [[0, 0], [1, 2]], constant_values=3.0),
    "pad_reflect": lambda: O.pad(m, [[0, 0], [1, 0], [2, 1]], mode="reflect"),
    "digitize": lambda: O.digitize(y, np.array([-1.0, 0.5, 2.0], "float32")),
    "segment_sum": lambda: O.segment_sum(x, one, 4),
    "scatter": lambda: O.scatter(one[:, None], x, (4, 3)),
    "scatter_positions": lambda: O.scatter(np.array([[0, 1], [1, 2]]), y[:, 1], (3, 3)),
    "scatter_values": lambda: O.scatter(one[:, None], three[1:], (4,)),
    "clip_tensors": lambda: O.clip(y, -three, three),
    "clip_mixed": lambda: O.clip(y, x, x + 1),
    "tensordot_axes": lambda: O.tensordot(m, x, axes=[[1, 0], [1, 0]]),
    "tensordot_tensor": lambda: O.tensordot(m, three, axes=[[1], [0]]),
    "tensordot_number": lambda: O.tensordot(x, y.T, axes=1),
    "scatter_update": lambda: O.scatter_update(x, np.array([[0, 1], [1, 2]]), y[:, 0]),
    "slice": lambda: O.slice(m, [0, 1, 1], [2, 2, 2]),
    "top_k": lambda: O.top_k(m, 2),
    "where_tensor": lambda: O.where(x > 0, y, three),
    "resize": lambda: O.image.resize(img, (3, 5)),
    "rgb_to_grayscale": lambda: O.image.rgb_to_grayscale(img[..., :3]),
    "extract_patches": lambda: O.image.extract_patches(img, (2, 2)),
    "one_hot": lambda: O.one_hot(ids, 4, axis=1),
    "logsumexp": lambda: O.logsumexp(m, axis=[1, 2]),
    # on tensors alone
    "identity": lambda: O.identity(3),
    "identity_integers": lambda: O.identity(2, "int32"),
    "arange": lambda: O.arange(4),
    "arange_floats": lambda: O.arange(0.5, 3),
    "arange_step": lambda: O.arange(1, 3, 0.5),
    "arange_dtype": lambda: O.arange(1, 4, 2, "int64"),
    "bincount": lambda: O.bincount(one, minlength=2),
    "bincount_weights": lambda: O.bincount(one, weights=three[:2], minlength=5),
    "nonzero": lambda: O.nonzero(y),
    "segment_sum_counted": lambda: O.segment_sum(x, one - 1),
    "size": lambda: O.size(m),
    "array": lambda: O.array([1.5, 2.0]),
    "convert_to_tensor": lambda: O.convert_to_tensor(ids, "float32"),
}


def number(value):
    if isinstance(value, (bool, np.bool_)) or isinstance(value, (int, np.integer)):
        return int(value)
    if np.isnan(value):
        return "nan"
    return float(f"{float(value):.8g}") if np.isfinite(value) else ("inf" if value > 0 else "-inf")


def described(result):
    parts = result if isinstance(result, (list, tuple)) else [result]
    arrays = [np.asarray(keras.ops.convert_to_numpy(part)) for part in parts]
    return [{"dtype": str(a.dtype), "shape": list(a.shape), "values": [number(v) for v in a.ravel()]} for a in arrays]


if __name__ == "__main__":
    lines = [f"{json.dumps(name)}: {json.dumps(described(case()))}" for name, case in CASES.items()]
    print("{\n" + ",\n".join(lines) + "\n}")
