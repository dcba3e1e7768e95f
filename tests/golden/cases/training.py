"""Losses, metrics and optimizers with options that the common fixtures leave out."""
import numpy as np
from keras import losses, metrics, optimizers
from keras.optimizers import schedules as S

from spec import Draw, Loss, Metric, Optimizer, flips, given, ids, lengths, onehot, prob, u, x


def unit(rng, *shape):
    a = rng.standard_normal(shape)
    return (a / np.linalg.norm(a, axis=-1, keepdims=True)).astype(np.float32)


w6, w8 = u(6, lo=0.2, hi=2.0), u(8, lo=0.2, hi=2.0)

LOSSES = [
    Loss("smoothing_axis", lambda: losses.BinaryFocalCrossentropy(label_smoothing=0.1, axis=1, reduction="none"),
         flips(4, 3, 2), u(4, 3, 2, lo=0.02, hi=0.98)),
    Loss("column", lambda: losses.BinaryFocalCrossentropy(apply_class_balancing=True, reduction="sum"), flips(6), u(6, 1, lo=0.1, hi=0.9), w6),
    Loss("axis", lambda: losses.CategoricalFocalCrossentropy(axis=1, gamma=0.5), onehot(3, 4, 4), u(3, 4, 4, lo=0.1)),
    Loss("steps_mask", lambda: losses.CategoricalFocalCrossentropy(from_logits=True), onehot(3, 5, 4), x(3, 5, 4), u(3, 5), lengths(5, 5, 2, 1)),
    Loss("steps", lambda: losses.CategoricalGeneralizedCrossEntropy(q=0.3, reduction="none"), ids(2, 5, high=4), prob(2, 5, 4), u(2, 5)),
    Loss("default", lambda: losses.CategoricalGeneralizedCrossEntropy(), ids(6, high=3), prob(6, 3), w6),
    Loss("weighted", lambda: losses.Circle(gamma=4.0, margin=0.25, remove_diagonal=False), ids(7, high=3), Draw((7, 4), lambda r: unit(r, 7, 4)), u(7)),
    Loss("lonely", lambda: losses.Circle(gamma=6.0), given([0, 1, 1, 2, 2, 2]), Draw((6, 4), lambda r: unit(r, 6, 4))),
    Loss("column_sum", lambda: losses.Circle(gamma=3.0, reduction="sum"), ids(6, 1, high=2), Draw((6, 4), lambda r: unit(r, 6, 4))),
    Loss("one_axis", lambda: losses.Dice(axis=-1), flips(5, 6), u(5, 6), u(5)),
    Loss("weighted_whole", lambda: losses.Dice(reduction="sum"), flips(3, 4), u(3, 4), u(3)),
    Loss("axes", lambda: losses.Tversky(alpha=0.8, beta=0.1, axis=(1, 2), reduction="none"), flips(3, 4, 3), u(3, 4, 3), u(3)),
    Loss("default", lambda: losses.Tversky(), flips(4, 6), u(4, 6)),
    Loss("padded", lambda: losses.CTC(), given([[1, 2, 2, 0, 0], [3, 0, 0, 0, 0], [1, 2, 3, 1, 2], [0, 0, 0, 0, 0]]), x(4, 9, 5), u(4)),
    Loss("repeats", lambda: losses.CTC(reduction="sum"), given([[1, 1, 1], [2, 2, 0]]), x(2, 6, 4, scale=3.0)),
]


def both(tag, make, y_true, y_pred, weight=w8, **kw):
    return [Metric(tag, make, y_true, y_pred, batches=2, **kw), Metric(f"{tag}_weighted", make, y_true, y_pred, weight, batches=1, **kw)]


bt, bp, b2t, b2p = flips(8), u(8), flips(8, 3), u(8, 3)
METRICS = (
    both("prgain", lambda: metrics.AUC(curve="PRGAIN", num_thresholds=12), bt, bp)
    + both("pr_majoring", lambda: metrics.AUC(curve="PR", summation_method="majoring", num_thresholds=15), bt, bp)
    + both("pr_multi_label", lambda: metrics.AUC(curve="PR", multi_label=True, num_thresholds=12), b2t, b2p)
    + both("multi_given", lambda: metrics.AUC(multi_label=True, num_labels=3, thresholds=[0.2, 0.3, 0.9]), b2t, b2p)
    + both("multi_logits", lambda: metrics.AUC(multi_label=True, from_logits=True, num_thresholds=9), b2t, x(8, 3))
    + both("matrix", lambda: metrics.AUC(num_thresholds=11), b2t, b2p)
    + both("edges", lambda: metrics.AUC(num_thresholds=3), given([0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0]), given([0.0, 1.0, 0.5, 0.5, 0.25, 1.0, 0.0, 0.75]))
    + both("even_given", lambda: metrics.AUC(thresholds=[0.25, 0.5, 0.75]), bt, bp)
    + both("even", lambda: metrics.TruePositives(thresholds=[0.0, 0.5, 1.0]), bt, bp)
    + both("matrix", lambda: metrics.TrueNegatives(thresholds=0.7), b2t, b2p)
    + both("even", lambda: metrics.FalsePositives(thresholds=[0.0, 0.25, 0.5, 0.75, 1.0]), bt, bp)
    + both("column", lambda: metrics.FalseNegatives(), flips(8, 1), u(8, 1))
    + both("squeeze", lambda: metrics.FalseNegatives(thresholds=[0.3, 0.4]), bt, u(8, 1))
    + both("top_k", lambda: metrics.Precision(top_k=2), onehot(8, 4), prob(8, 4))
    + both("class_id", lambda: metrics.Precision(class_id=2, thresholds=[0.2, 0.4]), onehot(8, 4), prob(8, 4))
    + both("top_k_threshold", lambda: metrics.Recall(top_k=3, thresholds=0.3), onehot(8, 5), prob(8, 5))
    + both("steps", lambda: metrics.Recall(), flips(4, 5), u(4, 5), u(4, 5))
    + both("class_id", lambda: metrics.PrecisionAtRecall(0.3, num_thresholds=20, class_id=1), onehot(8, 3), prob(8, 3))
    + both("one", lambda: metrics.RecallAtPrecision(0.4, num_thresholds=1), bt, bp)
    + both("forty", lambda: metrics.SensitivityAtSpecificity(0.7, num_thresholds=40), bt, bp)
    + both("two", lambda: metrics.SpecificityAtSensitivity(0.2, num_thresholds=2), bt, bp)
    + both("none", lambda: metrics.FBetaScore(beta=1.5, threshold=0.6), b2t, b2p)
    + both("micro", lambda: metrics.F1Score(average="micro", threshold=0.5), b2t, b2p)
    + both("weighted_average", lambda: metrics.F1Score(average="weighted"), onehot(8, 4), prob(8, 4))
    + both("ignore", lambda: metrics.IoU(num_classes=3, target_class_ids=[0, 1], ignore_class=2), ids(8, high=4), ids(8, high=4))
    + both("float", lambda: metrics.IoU(num_classes=3, target_class_ids=[1], dtype="float32"), ids(8, high=3), ids(8, high=3))
    + both("scores", lambda: metrics.IoU(num_classes=3, target_class_ids=[0, 2], sparse_y_pred=False), ids(8, high=3), prob(8, 3))
    + both("image", lambda: metrics.MeanIoU(num_classes=3, sparse_y_true=False, sparse_y_pred=False, dtype="float32"),
           onehot(2, 4, 3), prob(2, 4, 3), u(2, 4))
    + both("default", lambda: metrics.BinaryIoU(dtype="float32"), bt, bp)
    + both("sparse_pred", lambda: metrics.OneHotIoU(num_classes=3, target_class_ids=[0, 1], sparse_y_pred=True, ignore_class=1),
           onehot(8, 3), ids(8, high=3))
    + both("float", lambda: metrics.OneHotMeanIoU(num_classes=4, dtype="float32"), onehot(8, 4), prob(8, 4))
    + both("adjusted", lambda: metrics.R2Score(num_regressors=2), x(8, 2), x(8, 2))
    + both("variance", lambda: metrics.R2Score(class_aggregation="variance_weighted_average", num_regressors=3), x(8, 3), x(8, 3))
    + [Metric("too_many", lambda: metrics.R2Score(num_regressors=40), x(8, 2), x(8, 2))]
    + both("axis", lambda: metrics.PearsonCorrelation(axis=0), x(6, 5), x(6, 5), u(5))
    + both("axis", lambda: metrics.ConcordanceCorrelation(axis=1), x(6, 5, 2), x(6, 5, 2), u(6))
)

O = Optimizer
OPTIMIZERS = [
    O("decay_clip", lambda: optimizers.Adafactor(0.05, weight_decay=0.1, clipnorm=0.7, epsilon_2=0.01), exclude=["bias"]),
    O("schedule", lambda: optimizers.Adafactor(S.ExponentialDecay(0.05, 3, 0.5), relative_step=True)),
    O("ema_accumulate", lambda: optimizers.Adafactor(0.1, use_ema=True, ema_momentum=0.8, gradient_accumulation_steps=2)),
    O("scalar_and_large", lambda: optimizers.Adafactor(0.1), shapes={"gain": (), "matrix": (8, 10), "stack": (2, 3, 4, 5)}, steps=5),
    O("all", lambda: optimizers.Ftrl(0.05, learning_rate_power=-0.7, l1_regularization_strength=0.01, l2_regularization_strength=0.1,
                                     l2_shrinkage_regularization_strength=0.02, beta=0.3, weight_decay=0.05)),
    O("power_zero", lambda: optimizers.Ftrl(0.05, learning_rate_power=0.0, initial_accumulator_value=0.0)),
    O("accumulate", lambda: optimizers.Lamb(0.02, gradient_accumulation_steps=3, epsilon=1e-4)),
    O("decay_exclude_ema", lambda: optimizers.Lamb(0.02, weight_decay=0.2, use_ema=True, ema_overwrite_frequency=3), exclude=["bias"]),
    O("large", lambda: optimizers.Lamb(0.02), shapes={"gain": (), "matrix": (12, 20)}, steps=5),
    O("plain_momentum", lambda: optimizers.Muon(0.01, nesterov=False, rms_rate=None, ns_steps=3, weight_decay=None)),
    O("excluded", lambda: optimizers.Muon(0.02, exclude_layers=["ker.el$"], adam_lr_ratio=0.5, adam_beta_1=0.8, epsilon=1e-5)),
    O("wide", lambda: optimizers.Muon(0.02, momentum=0.9, muon_a=3.0, muon_b=-4.0, muon_c=1.8, adam_weight_decay=0.1),
      shapes={"wide": (3, 8), "tall": (8, 3), "embedding_table": (4, 3), "bias": (3,)}, exclude=["tall"]),
    O("no_warmup", lambda: optimizers.ScheduleFreeAdamW(0.02, beta_1=0.8, beta_2=0.95, epsilon=1e-5, weight_decay=0.1), exclude=["bias"]),
    O("clipped", lambda: optimizers.ScheduleFreeAdamW(0.02, warmup_steps=20, global_clipnorm=1.0, gradient_accumulation_steps=2)),
    O("adam", lambda: optimizers.LossScaleOptimizer(optimizers.Adam(0.05, clipnorm=1.0), initial_scale=16.0, dynamic_growth_steps=2),
      bad_steps=(0, 5, 6)),
    O("schedule_ema", lambda: optimizers.LossScaleOptimizer(optimizers.SGD(S.ExponentialDecay(0.1, 3, 0.5), momentum=0.9, use_ema=True,
                                                                          ema_momentum=0.8), initial_scale=8.0), bad_steps=(3,)),
]
SCHEDULES = []
