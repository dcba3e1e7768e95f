#include "cohort/kernels/chained_steps.h"

#include <memory>
#include <vector>

namespace cohort::kernels {
namespace {

// A step's kernel, and which of all pointers it takes.
struct ChainedStep {
  KernelFn kernel;
  std::vector<int> arguments;
  std::size_t inputs;
};

}  // namespace

KernelFn make_chained_steps(const KernelSpec& spec) {
  const JoinedSteps joined(spec.call());
  const int inputs = spec.num_inputs();
  auto chain = std::make_shared<std::vector<ChainedStep>>();
  for (const JoinedSteps::Step& step : joined.steps()) {
    const OpCall call = step.call();
    ChainedStep chained{make_kernel(KernelSpec(call, step.output_specs, spec.device(), step.name)), step.inputs,
                        step.inputs.size()};
    for (std::size_t i = 0; i < step.output_specs.size(); ++i) {
      chained.arguments.push_back(inputs + step.first_output + static_cast<int>(i));
    }
    chain->push_back(std::move(chained));
  }
  return [chain, inputs](const KernelIO& io) {
    std::vector<void*> arguments;
    for (const ChainedStep& step : *chain) {
      arguments.clear();
      for (int at : step.arguments) arguments.push_back(at < inputs ? io.inputs[at] : io.outputs[at - inputs]);
      KernelIO own = io;
      own.inputs = arguments.data();
      own.outputs = arguments.data() + step.inputs;
      step.kernel(own);
    }
  };
}

}  // namespace cohort::kernels
