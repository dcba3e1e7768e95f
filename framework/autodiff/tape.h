#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cohort/core/dispatch.h"
#include "cohort/core/op.h"

namespace cohort {

// What a GradientTape is made with.
struct GradientTapeOptions {
  // May be asked for several gradients; false: for one.
  bool persistent = false;
  // Watch every variable that is read; false: only what watch() names.
  bool watch_accessed_variables = true;
};

// Records ops on this thread while it lives and differentiates them: in eager code, and inside a trace, where the
// gradient becomes part of the graph. Tapes nest; a gradient taken while an outer tape records can be differentiated
// again. A tape that is not persistent stops recording and is spent with its first gradient.
class GradientTape {
 public:
  // Begins to record.
  explicit GradientTape(GradientTapeOptions options = {});
  ~GradientTape();
  GradientTape(const GradientTape&) = delete;

  // Records what is computed from this tensor, or from a variable's handle.
  void watch(const Tensor& tensor);
  // d target / d source for each source: a Tensor, or anything whose shards() have a handle() that is a variable's
  // resource tensor. A source the target does not depend on gets an undefined gradient.
  template <class Source>
  Gradients gradient(const Tensor& target, const std::vector<Source>& sources, const Tensor& output_gradient = {}) {
    Tensors handles;
    std::vector<std::size_t> shards;
    for (const Source& source : sources) {
      const auto parts = source.shards();
      for (const auto& part : parts) handles.push_back(part.handle());
      shards.push_back(parts.size());
    }
    return joined(gradients({target}, handles, {output_gradient}), handles, shards);
  }
  // The same for sources that are tensors.
  Gradients gradient(const Tensor& target, const std::vector<Tensor>& sources, const Tensor& output_gradient = {}) {
    return gradients({target}, sources, {output_gradient});
  }
  // The same for one source, as a dense tensor.
  Tensor gradient(const Tensor& target, const Tensor& source) { return gradients({target}, {source}, {Tensor()})[0]; }
  // Several targets, each with the gradient that flows into it (undefined: ones).
  Gradients gradients(const Tensors& targets, const Tensors& sources, const Tensors& output_gradients);
  // The matrix d target[i] / d source[j], of shape target.shape + source.shape. Needs a target of known size.
  Tensor jacobian(const Tensor& target, const Tensor& source);

 private:
  // One gradient for each source out of those of its shards.
  static Gradients joined(Gradients of_shards, const Tensors& handles, const std::vector<std::size_t>& shards);
  class Recorder;
  std::unique_ptr<Recorder> recorder_;
};

// The gradients of a function's inputs from that of its result.
using CustomGradient = std::function<Tensors(const Tensor& dy)>;
// Runs `forward`; its result's gradient is what the second function it returns makes of the gradient that flows in.
Tensor custom_gradient(const std::function<std::pair<Tensor, CustomGradient>(const Tensors&)>& forward,
                       const Tensors& inputs);

}  // namespace cohort
