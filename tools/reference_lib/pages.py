"""Which page shows what. A declaration goes where its name is listed, else by its namespace, else by its room.

Rooms that no page names (the engine's: graph, kernels, ...) show only what a page lists by name. What a page would show
and no user needs is in left_out.txt.
"""

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .headers import read, room_of

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass(frozen=True)
class Page:
    name: str
    title: str
    line: str  # what it holds, for the list of pages
    namespaces: tuple = ()
    rooms: tuple = ()
    names: tuple = ()  # these come first, in this order
    also: tuple = ()   # these come in no particular order; * stands for anything
    shows_functions: bool = True
    inline: bool = False  # sections are code from end to end, records too
    handles_only: bool = False  # besides handles: only the types they mention and what `names` lists


PAGES = (
    Page("models", "Models and training",
         "Model, Sequential, Input, compile, fit, evaluate, predict; the base class Layer",
         namespaces=("mixed_precision",), rooms=("model",),
         names=("Sequential", "Input", "InputOptions", "Model", "ModelOptions", "CompileOptions", "LossArgument",
                "MetricsArgument", "LossWeights", "FitOptions", "EvaluateOptions", "PredictOptions", "History", "Layer",
                "CallContext", "CallOptions", "WeightOptions", "SymbolicTensor", "Symbols", "DTypePolicy", "Ref",
                "make", "Configurable", "FieldVisitor"),
         also=("COHORT_REGISTER*", "COHORT_FIELDS")),
    Page("losses", "Losses", "what training minimises, and how to write one", namespaces=("losses",), rooms=("losses",),
         handles_only=True, names=("Loss",)),
    Page("metrics", "Metrics", "running figures of training and evaluation, and how to write one",
         namespaces=("metrics",), rooms=("metrics",), handles_only=True, names=("Metric",)),
    Page("optimizers", "Optimizers and learning rate schedules", "what turns gradients into updates",
         namespaces=("optimizers", "optimizers::schedules"), rooms=("optimizers",), handles_only=True,
         names=("Optimizer", "LearningRate", "LearningRateSchedule")),
    Page("initializers-regularizers-constraints-activations", "Initializers, regularizers, constraints, activations",
         "what layers take by object or by name", handles_only=True,
         namespaces=("initializers", "regularizers", "constraints", "activations"),
         names=("Initializer", "Regularizer", "Constraint", "Activation", "NestedNumbers")),
    Page("callbacks", "Callbacks", "what watches and steers a training, and how to write one", handles_only=True,
         namespaces=("callbacks",), rooms=("callbacks",),
         names=("Callback", "CallbackParams", "BatchHooks", "Logs", "RunControl", "Position")),
    Page("data", "Data", "Dataset, its transforms, iterators, sources, and the tree called Element",
         namespaces=("datasets",), rooms=("data", "datasets"),
         names=("Dataset", "ShuffleOptions", "BatchOptions", "MapOptions", "DatasetTransform", "ElementFunction", "from_tensor_slices", "Element", "Tree",
                "Iterator", "DatasetCreator", "InputContext")),
    Page("ops", "Operations", "functions of tensors, keras.ops", inline=True, namespaces=("ops", "ops::linalg"),
         rooms=("ops",), also=("operator[-!]", "operator ?*", "embedding_lookup")),
    Page("tensors", "Tensors, variables, gradients",
         "Tensor, Shape, DType, Variable, GradientTape, function, seeds, devices",
         namespaces=("log",), rooms=("variables", "autodiff"),
         names=("Tensor", "Tensors", "TensorSpec", "from_dlpack", "to_dlpack", "to_dlpack_unversioned", "Shape", "kUnknown", "DType", "dtype_from_string",
                "is_floating", "is_integer", "Variable", "Variables", "VariableOptions", "GradientTape",
                "GradientTapeOptions", "Gradient", "Gradients", "IndexedSlices", "function", "Function",
                "FunctionOptions", "Results", "set_random_seed", "global_seed", "enable_tensor_float_32_execution",
                "tensor_float_32_execution_enabled", "enable_op_determinism", "op_determinism_enabled", "device", "DeviceScope", "DeviceSpec",
                "Device", "default_device", "set_default_device", "device_named", "cpu", "Error", "ErrorCode",
                "set_mask", "mask_of", "MaskScope", "Attributes", "AttributeValue")),
    Page("saving", "Saving and loading", "model files, weights, checkpoints, exported graphs, pictures of models",
         namespaces=("models",), rooms=("saving",),
         names=("load_model", "LoadModelOptions", "Checkpoint", "CheckpointManager", "clone_model", "plot_model")),
    Page("summary", "Summaries for TensorBoard", "EventWriter: scalars, histograms, images, text, hyperparameters",
         namespaces=("summary",), rooms=("summary",), names=("EventWriter", "EventWriterOptions", "Timeline",
                                                             "TimelineScope", "TimelineSpan")),
    Page("distribute", "Training on a cluster", "parameter servers, servers, clusters, the coordinator",
         namespaces=("distribute",), rooms=("distribute",),
         names=("ParameterServerStrategy", "Server", "LocalCluster")),
)

# Layers have a page for each of their folders.
LAYER_TITLES = {
    "activation": ("Activation layers", "ReLU, LeakyReLU, Softmax, ..."),
    "attention": ("Attention layers", "dot-product, additive, multi-head and grouped-query attention"),
    "convolutional": ("Convolutional layers", "convolutions of 1, 2 and 3 axes, transposed, depthwise, separable"),
    "core": ("Core layers", "Dense, Embedding, Lambda, Masking, ..."),
    "merging": ("Merging layers", "Add, Concatenate, Dot, ..."),
    "normalization": ("Normalization layers", "batch, layer, group, RMS, spectral and unit normalization"),
    "pooling": ("Pooling layers", "maxima and means over windows, over everything, or to a given size"),
    "preprocessing": ("Preprocessing layers", "text, categories, numbers, images and their augmentation"),
    "recurrent": ("Recurrent layers", "LSTM, GRU, SimpleRNN, their cells, and what wraps them"),
    "regularization": ("Regularization layers", "dropout and noise"),
    "reshaping": ("Reshaping layers", "Flatten, Reshape, padding, cropping, up-sampling"),
}


def layers_page(header):
    """The page of a header of layers: that of its folder, those that lie in none with the core."""
    parts = header.split("/")
    folder = parts[1] if len(parts) > 2 else "core"
    title, line = LAYER_TITLES.get(folder, (folder.capitalize() + " layers", "layers of this kind"))
    return Page("layers-" + folder, title, line, namespaces=("layers",), rooms=("layers",), shows_functions=False,
                handles_only=True)


def page_of(declared):
    """The page that shows a declaration, or None."""
    namespace = "::".join(declared.scope[1:])
    if not namespace or namespace == "datasets":
        for page in PAGES:
            if declared.name in page.names or any(fnmatchcase(declared.name, pattern) for pattern in page.also):
                return page
    if namespace == "layers":
        return layers_page(declared.header)
    for page in PAGES:
        if namespace and namespace in page.namespaces or not namespace and room_of(declared.header) in page.rooms:
            return page
    return None


class LeftOut:
    """The names that pages do not show, with * for any part of a name."""

    def __init__(self):
        lines = read(HERE, "left_out.txt").splitlines()
        self.patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        self.wide = [pattern for pattern in self.patterns if "*" in pattern]
        self.exact = set(self.patterns) - set(self.wide)
        self.matching = {}  # patterns by the names asked for

    def __contains__(self, qualified):
        if qualified not in self.matching:
            exact = [qualified] if qualified in self.exact else []
            self.matching[qualified] = exact + [pattern for pattern in self.wide if fnmatchcase(qualified, pattern)]
        return bool(self.matching[qualified])

    def unused(self):
        used = {pattern for patterns in self.matching.values() for pattern in patterns}
        return [pattern for pattern in self.patterns if pattern not in used]
