#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "cohort/core/kernel_work.h"
#include "cohort/core/rounded_value.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/passes/memory.h"
#include "cohort/graph/passes/pass.h"

namespace cohort {

// A graph whose shapes are all known: kernels in a fixed order over one planned arena. A frame holds the arena and the
// argument pointers of one run; frames are kept and reused, so several threads run at once without waiting.
class PlannedExecutable : public Executable {
 public:
  // `copies` are the graph's last inputs, which it keeps by itself: callers give those before them.
  PlannedExecutable(Graph graph, Device& device, bool share_memory, std::vector<passes::RoundedInput> copies = {});
  ~PlannedExecutable() override;

  void run(std::span<const Tensor> inputs, std::span<Tensor> outputs, const RandomState& random) override;
  // The same on bare pointers: inputs in order (a resource's kernel pointer), outputs written where they point.
  void run_raw(void* const* inputs, void* const* outputs, const RandomState* random) override;
  void reserve(std::size_t runs) override;
  const Graph& graph() const override { return graph_; }
  std::size_t arena_bytes() const override { return plan_.arena_bytes; }

  // For work that is recorded: runs in a frame of the caller's own, always in the same memory.
  struct Frame {
    Owned<Buffer> arena;
    Owned<Buffer> random;  // where the kernels cannot read the host's
    std::vector<void*> arguments;
    std::vector<KernelCall> calls;
    std::vector<void*> input_pointers;
    std::vector<void*> output_pointers;
    std::vector<const Resource*> checked;  // resources already compared with what the graph says of them
    struct Kept {
      const Resource* variable = nullptr;
      RoundedValue* value = nullptr;  // the same
      bool stands = false;            // the copy is what the variable is
    };
    std::vector<Kept> kept;  // variables with rounded copies
  };
  std::unique_ptr<Frame> make_frame() const;
  // Before a run on these inputs: the pointers of those that are defined come into frame.input_pointers, variables
  // that it writes own their memory, and their rounded copies are what they are.
  void bind(std::span<const Tensor> inputs, Frame& frame) const;
  // Calls of a run, from `first` to before `last`.
  struct Part {
    std::size_t first = 0, last = 0;
  };
  // All of them.
  Part whole() const { return {0, steps_.size()}; }
  // Calls whose results depend on nothing but inputs for which `same` is true, and stay when a run has ended: the next
  // need not repeat them if these inputs are the same.
  std::vector<std::size_t> calls_on(const std::vector<bool>& same) const;
  // How many calls each output needs, from the first on.
  std::vector<std::size_t> calls_for_outputs() const;
  void execute(Frame& frame, void* const* inputs, void* const* outputs, const RandomState* random) {
    execute(frame, inputs, outputs, random, whole());
  }
  // The parts of a run are begun in order.
  void execute(Frame& frame, void* const* inputs, void* const* outputs, const RandomState* random, Part part);

 private:
  struct Step : KernelSubject {
    KernelWork work() const override;
    KernelFn kernel;
    std::vector<passes::Location> arguments;
    int inputs = 0;
    int outputs = 0;
    const Graph* graph = nullptr;
    const Node* node = nullptr;  // nullptr: copies a result
  };
  // An argument that is another pointer in every run.
  struct Patch {
    std::size_t argument;
    int slot;
  };

  struct KeptCopy : KernelSubject {
    explicit KeptCopy(passes::RoundedInput input) : input(std::move(input)) {}
    KernelWork work() const override;
    const passes::RoundedInput input;
    KernelFn cast;  // makes it anew
  };

  // Of the inputs, those that callers give.
  std::size_t given_inputs() const { return graph_.inputs.size() - copies_.size(); }
  void make_steps();
  void collect_claims();
  void check_claims(std::span<const Tensor> inputs, Frame& frame) const;
  void find_copies(std::span<const Tensor> inputs, Frame& frame) const;
  void renew_copies(Frame& frame) const;
  // Ends what steps have begun in a frame and others were to wait for.
  void abandon_work(const Frame& frame) const noexcept;
  std::unique_ptr<Frame> take_frame();
  void count_frames(std::size_t frames);
  void give_frame(std::unique_ptr<Frame> frame);
  Owned<Buffer> make_arena() const;
  void* fixed_pointer(const passes::Location& location, char* arena) const;

  Graph graph_;
  Device& device_;
  passes::MemoryPlan plan_;
  std::vector<Tensor> constants_;  // by node, on the device
  // Of all frames, where runs come one after the other whoever begins them: on devices that record.
  Owned<Buffer> shared_arena_;
  std::vector<KeptCopy> copies_;
  std::vector<Step> steps_;
  std::vector<Patch> input_patches_, output_patches_;
  VariableClaims claims_;            // of the graph's inputs
  std::vector<int> written_inputs_;  // inputs that are resources some step writes
  std::mutex mutex_;
  std::vector<std::unique_ptr<Frame>> free_frames_;
  std::size_t frames_ = 0;  // those in use included
};

}  // namespace cohort
