#include "cohort/model/layer/layer_activation.h"

// The activation layers without weights, which Keras also takes, and writes, as the activation of another layer.
namespace cohort::layers {
namespace {

[[maybe_unused]] const bool usable_as_activations[] = {
    register_layer_as_activation("Activation"), register_layer_as_activation("ELU"),
    register_layer_as_activation("LeakyReLU"),  register_layer_as_activation("ReLU"),
    register_layer_as_activation("Softmax"),
};

}  // namespace
}  // namespace cohort::layers
