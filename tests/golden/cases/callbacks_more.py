"""Options of callbacks that the common fixtures leave out.

Made into tests/golden/data/callbacks_more with make.py of the fixtures: --seed 11 --only callbacks --cases THIS.
"""
from spec import Callback as C

FALLING_THEN_FLAT = [1.0, 0.8, 0.8, 0.79, 0.9, 0.7, 0.75, 0.74, 0.73, 0.72]
NEVER_BETTER = [0.5, 0.6, 0.7, 0.8, 0.9]
RISING = [0.1, 0.4, 0.35, 0.39, 0.41, 0.2, 0.2, 0.2]


def logs(values, name="val_loss", **more):
    return [{"loss": 2 * v, name: v, **more} for v in values]


# The figure is not there in every epoch.
GAPS = [{"loss": 1.0}, {"loss": 0.9, "val_loss": 0.5}, {"loss": 0.8}, {"loss": 0.7, "val_loss": 0.6}, {"loss": 0.6, "val_loss": 0.7}]

CALLBACKS = [
    C("no_patience", "EarlyStopping", {}, logs(FALLING_THEN_FLAT)),
    C("warm_up", "EarlyStopping", dict(patience=1, start_from_epoch=4, restore_best_weights=True), logs(FALLING_THEN_FLAT)),
    C("warm_up_longer_than_run", "EarlyStopping", dict(start_from_epoch=20, restore_best_weights=True), logs(NEVER_BETTER)),
    C("baseline_never_met", "EarlyStopping", dict(patience=3, baseline=0.1, restore_best_weights=True), logs(FALLING_THEN_FLAT)),
    C("baseline_met_late", "EarlyStopping", dict(patience=4, baseline=0.75, restore_best_weights=True), logs(FALLING_THEN_FLAT)),
    C("not_stopped_restores", "EarlyStopping", dict(patience=20, restore_best_weights=True), logs(FALLING_THEN_FLAT)),
    C("first_is_best", "EarlyStopping", dict(patience=2, restore_best_weights=True), logs(NEVER_BETTER)),
    C("auto_accuracy", "EarlyStopping", dict(monitor="val_accuracy", patience=2, min_delta=0.05), logs(RISING, "val_accuracy")),
    C("auto_train_accuracy", "EarlyStopping", dict(monitor="accuracy", patience=3), logs(RISING, "accuracy")),
    C("max_of_loss", "EarlyStopping", dict(monitor="loss", mode="max", patience=1), logs(RISING)),
    C("min_of_accuracy", "EarlyStopping", dict(monitor="val_accuracy", mode="min", patience=1), logs(RISING, "val_accuracy")),
    C("negative_delta", "EarlyStopping", dict(min_delta=-0.05, patience=2), logs(FALLING_THEN_FLAT)),
    C("edge_of_delta", "EarlyStopping", dict(min_delta=0.1, patience=1), logs([1.0, 0.9, 0.8, 0.7, 0.6, 0.5])),
    C("unknown_mode", "EarlyStopping", dict(mode="smallest", patience=1), logs(FALLING_THEN_FLAT)),
    C("gaps", "EarlyStopping", dict(patience=1, restore_best_weights=True), GAPS),

    C("no_patience", "ReduceLROnPlateau", dict(patience=0, factor=0.5), logs(FALLING_THEN_FLAT)),
    C("auto_accuracy", "ReduceLROnPlateau", dict(monitor="val_accuracy", patience=2, factor=0.2), logs(RISING, "val_accuracy")),
    C("max", "ReduceLROnPlateau", dict(monitor="loss", mode="max", patience=1, factor=0.3, min_delta=0.05), logs(RISING)),
    C("floor", "ReduceLROnPlateau", dict(patience=1, factor=0.3, min_lr=0.02), logs(NEVER_BETTER)),
    C("floor_is_start", "ReduceLROnPlateau", dict(patience=1, factor=0.3, min_lr=0.1), logs(NEVER_BETTER)),
    C("cooldown", "ReduceLROnPlateau", dict(patience=1, factor=0.5, cooldown=3), logs(FALLING_THEN_FLAT)),
    C("cooldown_patience", "ReduceLROnPlateau", dict(patience=2, factor=0.9, cooldown=1, min_delta=0.0), logs(FALLING_THEN_FLAT)),
    C("unknown_mode", "ReduceLROnPlateau", dict(patience=1, mode="down"), logs(FALLING_THEN_FLAT)),
    C("gaps", "ReduceLROnPlateau", dict(patience=1, factor=0.5), GAPS),

    C("far_apart", "LearningRateScheduler", dict(schedule={"values": [0.3, 1e-5, 2.0]}), logs(NEVER_BETTER[:3])),
    C("grow", "LearningRateScheduler", dict(schedule={"multiply": 1.5}), logs(NEVER_BETTER), lr=0.02),

    C("append", "CSVLogger", dict(filename="log.csv", append=True), logs(NEVER_BETTER[:2])),
    C("tab", "CSVLogger", dict(filename="log.csv", separator="\t"), logs(NEVER_BETTER[:3])),
    C("dot", "CSVLogger", dict(filename="log.csv", separator="."), logs(NEVER_BETTER[:2])),
    C("late_validation", "CSVLogger", dict(filename="log.csv"), [{"loss": 0.5, "accuracy": 1.0}, {"loss": 0.25, "accuracy": 0.1, "val_loss": 1e-7, "val_accuracy": 3.0}]),
    C("late_metric", "CSVLogger", dict(filename="log.csv"), [{"val_loss": 0.5}, {"val_loss": 1e20, "loss": 1.0}]),
    C("quoted", "CSVLogger", dict(filename="log.csv"), [{"a,b": 0.5, 'say "so"': 1.0, "two words": 2.0}]),
    C("nothing", "CSVLogger", dict(filename="log.csv"), [{}, {"loss": 1.0}]),

    C("threshold", "ModelCheckpoint", dict(filepath="{epoch}.keras", save_best_only=True, initial_value_threshold=0.79), logs(FALLING_THEN_FLAT)),
    C("max", "ModelCheckpoint", dict(filepath="{epoch:03d}-{val_accuracy:.1f}.weights.h5", monitor="val_accuracy", mode="max",
                                     save_best_only=True, save_weights_only=True), logs(RISING, "val_accuracy")),
    C("auto_accuracy", "ModelCheckpoint", dict(filepath="{epoch}.keras", monitor="val_accuracy", save_best_only=True), logs(RISING, "val_accuracy")),
    C("braces", "ModelCheckpoint", dict(filepath="{{x}}{epoch:4d}-{loss:08.3f}-{val_loss:.1e}-{loss}.keras"), logs(FALLING_THEN_FLAT[:3])),
    C("every_batch", "ModelCheckpoint", dict(filepath="{epoch}-{batch:02d}.weights.h5", save_weights_only=True, save_freq=1), logs(NEVER_BETTER[:2])),
    C("gaps", "ModelCheckpoint", dict(filepath="{epoch}.keras", save_best_only=True), GAPS),
]
LAYERS = STATS = LOSSES = METRICS = OPTIMIZERS = SCHEDULES = REGULARIZERS = TRAINING = SAVED = INITIALIZERS = TENSORBOARD = []
