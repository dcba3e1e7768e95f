"""Functional models of single operations of keras.ops.linalg, as files hold them, with gradients.

Made into tests/golden/data/linalg with make.py of the fixtures: --seed 7 --only layers --cases THIS. Results whose signs
are free (eigenvectors, singular vectors) are put together to something that has none.
"""
import keras
from keras import ops as O

from spec import Layer, given, x

STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = CALLBACKS = TENSORBOARD = []


def model(tag, function, *draws, fixed_batch=False):
    def make():
        inputs = [keras.Input(batch_shape=d.shape) if fixed_batch else keras.Input(d.shape[1:]) for d in draws]
        return keras.Model(inputs if len(inputs) > 1 else inputs[0], function(*inputs))
    return Layer(tag, make, list(draws) if len(draws) > 1 else draws[0])


def positive(a):
    return O.matmul(a, O.swapaxes(a, 1, 2)) + O.eye(3)


def symmetric(a):
    return a + O.swapaxes(a, 1, 2)


def joined(u, s, v):
    return O.matmul(u * O.expand_dims(O.log(s), 1), v)


SQUARE = given([[[2.0, -0.5, 0.3], [0.7, 1.5, -0.4], [-0.2, 0.6, 1.8]], [[0.1, 1.4, 0.2], [1.9, -0.3, 0.5], [0.4, 0.2, 1.1]]])
TALL, WIDE, RIGHT, VECTOR = x(2, 4, 3), x(2, 2, 4), x(2, 3, 2), x(2, 3)

LAYERS = [
    model("cholesky", lambda a: O.cholesky(positive(a)), SQUARE),
    model("cholesky_upper", lambda a: O.cholesky(positive(a), upper=True), SQUARE),
    model("cholesky_inverse", lambda a: O.cholesky_inverse(a), SQUARE),
    model("cholesky_inverse_upper", lambda a: O.cholesky_inverse(a, upper=True), SQUARE),
    model("det", lambda a: O.det(a), SQUARE),
    model("inv", lambda a: O.inv(a), SQUARE),
    model("eigenvalues", lambda a: O.eigh(symmetric(a))[0], SQUARE),
    model("eigenvalues_of_the_lower_triangle", lambda a: O.eigh(a)[0], SQUARE),
    model("eigenvectors", lambda a: O.square(O.eigh(symmetric(a))[1]), SQUARE),
    model("lstsq", lambda a, b: O.lstsq(a, b), x(4, 2), x(4), fixed_batch=True),
    model("lstsq_many", lambda a, b: O.lstsq(a, b, rcond=0.001), x(4, 2), x(4, 3), fixed_batch=True),
    model("matrix_rank", lambda a: O.cast(O.matrix_rank(a), "float32"), given([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 3.0]]])),
    model("matrix_rank_bound", lambda a: O.cast(O.matrix_rank(a, tol=2.0), "float32"), given([[[1.0, 0.0], [0.0, 3.0]]])),
    model("nuclear_norm", lambda a: O.norm(a, ord="nuc", axis=(1, 2)), TALL),
    model("largest_singular_value", lambda a: O.norm(a, ord=2, axis=(1, 2), keepdims=True), TALL),
    model("smallest_singular_value", lambda a: O.norm(a, ord=-2, axis=(2, 1)), WIDE),
    model("pinv", lambda a: O.pinv(a), TALL),
    model("pinv_wide", lambda a: O.pinv(a), WIDE),
    model("qr_q", lambda a: O.qr(a)[0], TALL),
    model("qr_r", lambda a: O.qr(a)[1], TALL),
    model("qr_of_squares", lambda a: O.qr(a, mode="complete")[0], SQUARE),
    model("qr_wide", lambda a: O.qr(a)[1], WIDE),
    model("solve", lambda a, b: O.solve(a, b), SQUARE, RIGHT),
    model("solve_vector", lambda a, b: O.solve(a, b), SQUARE, VECTOR),
    model("solve_triangular", lambda a, b: O.solve_triangular(a, b), SQUARE, RIGHT),
    model("solve_triangular_lower", lambda a, b: O.solve_triangular(a, b, lower=True), SQUARE, VECTOR),
    model("singular_values", lambda a: O.svd(a, compute_uv=False), TALL),
    model("singular_vectors", lambda a: joined(*O.svd(a, full_matrices=False)), TALL),
    model("singular_vectors_wide", lambda a: joined(*O.svd(a, full_matrices=False)), WIDE),
    model("singular_vectors_full", lambda a: joined(*O.svd(a)), SQUARE),
    model("logdet", lambda a: O.logdet(positive(a)), SQUARE),
    model("slogdet", lambda a: O.slogdet(a)[1], SQUARE),
]
