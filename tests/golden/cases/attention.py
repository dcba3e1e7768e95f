"""Options of the attention layers that the common fixtures leave out."""
import numpy as np
from keras import layers as L
from keras import regularizers
from spec import Layer as C
from spec import bools, given, lengths, x

SOME_STEPS_SEE_NOTHING = given(np.array([[[1, 0, 1], [0, 0, 0]], [[0, 1, 1], [1, 1, 0]]], dtype=bool))

LAYERS = [
    C("gate", lambda: L.MultiHeadAttention(2, 3, use_gate=True, value_dim=2), dict(query=x(2, 4, 5), value=x(2, 3, 6))),
    C("window", lambda: L.MultiHeadAttention(2, 3, sliding_window=2), dict(query=x(2, 5, 4), value=x(2, 5, 4))),
    C("causal_window_scores", lambda: L.MultiHeadAttention(2, 3, sliding_window=2), dict(query=x(2, 5, 4), value=x(2, 5, 4)),
      call={"use_causal_mask": True, "return_attention_scores": True}),
    C("causal_long", lambda: L.MultiHeadAttention(2, 3), dict(query=x(1, 6, 4), value=x(1, 3, 4)), call={"use_causal_mask": True}),
    C("unseen", lambda: L.MultiHeadAttention(2, 3), dict(query=x(2, 2, 4), value=x(2, 3, 4), attention_mask=SOME_STEPS_SEE_NOTHING)),
    C("unseen_dropout", lambda: L.MultiHeadAttention(2, 3, dropout=0.5),
      dict(query=x(2, 2, 4), value=x(2, 3, 4), attention_mask=SOME_STEPS_SEE_NOTHING)),
    C("unseen_scores", lambda: L.MultiHeadAttention(2, 3), dict(query=x(2, 2, 4), value=x(2, 3, 4), attention_mask=SOME_STEPS_SEE_NOTHING),
      call={"return_attention_scores": True}),
    C("mask_per_head", lambda: L.MultiHeadAttention(2, 3), dict(query=x(2, 3, 4), value=x(2, 5, 4), attention_mask=bools(2, 2, 3, 5))),
    C("all_masks", lambda: L.MultiHeadAttention(2, 3),
      dict(query=x(2, 4, 4), value=x(2, 5, 4), key=x(2, 5, 3), query_mask=lengths(4, 4, 2), value_mask=lengths(5, 4, 5),
           key_mask=lengths(5, 5, 3), attention_mask=bools(2, 4, 5)), call={"use_causal_mask": True}),
    C("two_axes", lambda: L.MultiHeadAttention(2, 3), dict(query=x(2, 2, 3, 4), value=x(2, 3, 2, 4))),
    C("second_axis", lambda: L.MultiHeadAttention(2, 3, attention_axes=(2,)), dict(query=x(2, 2, 3, 4), value=x(2, 2, 5, 4))),
    C("last_axis_masked", lambda: L.MultiHeadAttention(2, 3, attention_axes=-2),
      dict(query=x(2, 2, 3, 4), value=x(2, 2, 5, 4), attention_mask=bools(2, 2, 3, 5))),
    C("output_axes", lambda: L.MultiHeadAttention(2, 3, output_shape=(2, 5)), dict(query=x(2, 3, 4), value=x(2, 3, 4))),
    C("penalties", lambda: L.MultiHeadAttention(2, 3, kernel_regularizer="l2", bias_regularizer="l1",
                                                activity_regularizer=regularizers.L2(0.1)), dict(query=x(2, 3, 4), value=x(2, 3, 4))),

    C("scores", lambda: L.GroupQueryAttention(3, 4, 2), dict(query=x(2, 4, 6), value=x(2, 5, 6), query_mask=lengths(4, 4, 3),
                                                             value_mask=lengths(5, 3, 5)), call={"return_attention_scores": True}),
    C("masks", lambda: L.GroupQueryAttention(3, 4, 2), dict(query=x(2, 4, 6), value=x(2, 5, 6), query_mask=lengths(4, 4, 3),
                                                            value_mask=lengths(5, 3, 5), attention_mask=bools(2, 4, 5))),
    C("gate_window", lambda: L.GroupQueryAttention(3, 6, 3, use_gate=True, sliding_window=2), dict(query=x(2, 4, 6), value=x(2, 4, 6))),
    C("dropout_unseen", lambda: L.GroupQueryAttention(3, 4, 2, dropout=0.2),
      dict(query=x(2, 2, 4), value=x(2, 3, 4), attention_mask=SOME_STEPS_SEE_NOTHING)),
    C("penalties", lambda: L.GroupQueryAttention(3, 4, 2, kernel_regularizer="l2", activity_regularizer=regularizers.L2(0.1)),
      dict(query=x(2, 3, 4), value=x(2, 3, 4))),

    C("concat_causal", lambda: L.Attention(score_mode="concat"), [x(2, 3, 4), x(2, 5, 4)], call={"use_causal_mask": True}),
    C("dropout_infer", lambda: L.Attention(dropout=0.4, use_scale=True), [x(2, 3, 4), x(2, 5, 4)]),
    C("masked_key", lambda: L.Attention(use_scale=True), dict(inputs=[x(2, 3, 4), x(2, 5, 6), x(2, 5, 4)],
                                                              mask=[lengths(3, 3, 1), lengths(5, 2, 5)])),
    C("key_scores", lambda: L.AdditiveAttention(), [x(2, 3, 4), x(2, 5, 6), x(2, 5, 4)], call={"return_attention_scores": True}),
    C("causal_mask", lambda: L.AdditiveAttention(dropout=0.1), dict(inputs=[x(2, 4, 3), x(2, 4, 3)], mask=[lengths(4, 4, 3), lengths(4, 2, 4)]),
      call={"use_causal_mask": True}),
]
STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = CALLBACKS = TENSORBOARD = []
