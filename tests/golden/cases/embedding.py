"""Options of Embedding, ReversibleEmbedding and EinsumDense that the common fixtures leave out."""
from keras import layers as L
from keras import regularizers
from spec import Layer as C
from spec import ids, x

LAYERS = [
    C("regularized", lambda: L.Embedding(6, 3, embeddings_regularizer="l2", embeddings_constraint="non_neg"), ids(2, 3, high=6)),
    C("one_axis", lambda: L.Embedding(6, 3, embeddings_initializer="normal"), ids(5, high=6)),
    C("three_axes", lambda: L.Embedding(6, 3, mask_zero=True), ids(2, 3, 2, high=3)),
    C("mask_zero", lambda: L.ReversibleEmbedding(7, 3, mask_zero=True), ids(2, 4, high=3)),
    C("reverse", lambda: L.ReversibleEmbedding(7, 3), x(2, 4, 3), call={"reverse": True}),
    C("reverse_untied", lambda: L.ReversibleEmbedding(7, 3, tie_weights=False, logit_soft_cap=1.5, reverse_dtype="float32"), x(2, 4, 3),
      call={"reverse": True}),
    C("two_axes", lambda: L.EinsumDense("ab,bc->ac", output_shape=4, bias_axes="c", activation="relu"), x(3, 5)),
    C("ellipsis_left", lambda: L.EinsumDense("...x,xy->...y", output_shape=4, bias_axes="y"), x(2, 3, 2, 5)),
    C("ellipsis_right", lambda: L.EinsumDense("ab...,bc->ac...", output_shape=4, bias_axes="c"), x(2, 3, 5)),
    C("no_bias", lambda: L.EinsumDense("abcd,cde->abe", output_shape=(None, 4)), x(2, 3, 2, 5)),
    C("bias_of_one_axis", lambda: L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="d"), x(2, 3, 4)),
    C("turned", lambda: L.EinsumDense("abc,cd->adb", output_shape=(5, None), bias_axes="d", activation="softmax"), x(2, 3, 4)),
    C("penalties", lambda: L.EinsumDense("abc,bc->ac", output_shape=4, bias_axes="c", kernel_regularizer="l2", bias_regularizer="l1",
                                         activity_regularizer=regularizers.L2(0.1)), x(2, 3, 4)),
]
STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = CALLBACKS = TENSORBOARD = []
