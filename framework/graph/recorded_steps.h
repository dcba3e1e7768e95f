#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cohort/core/device.h"
#include "cohort/graph/executable.h"

namespace cohort {

class PlannedExecutable;

// Steps of one executable on a device that records: several of them are begun by one launch. Batches lie in one of two
// blocks of the device, each with a recording of its own; while the steps of one block run, the copy stream fills the
// other, through pinned memory or straight from a batch that lies in such memory. Parts of a batch that are the same
// tensors of the device in every batch are read where they lie. Belongs to one thread at a time.
class RecordedSteps {
 public:
  // Told which outputs stand once the work is done that the compute stream holds by now; the rest of the step is begun
  // after it returns.
  using OutputsReady = std::function<void(std::span<const std::size_t> outputs)>;

  // Inputs of the executable are those of a batch, then `captures`. nullptr where it cannot be done: the device does
  // not record, shapes depend on values, or some op runs on the host. The caller runs `steps` at a time: of the numbers
  // that divide it, the largest that is worth it go into one launch; one, where there are outputs. `example`, where it
  // is given, is a batch: the parts of it that are there and lie on the device are expected in all others.
  static std::unique_ptr<RecordedSteps> make(std::shared_ptr<Executable> executable, Device& device,
                                             std::span<const TensorSpec> batch, std::span<const Tensor> captures,
                                             std::int64_t steps, std::span<const Tensor> example = {});
  ~RecordedSteps();

  // Whether it is one of the batches it was made for.
  bool takes(std::span<const Tensor> batch) const;
  // Another step; begun now or, at the latest, by flush(). The batch may change when it returns. While the thread has a
  // timeline, and where work turns out to be of a kind that is not recorded, steps are begun kernel after kernel.
  // One with large outputs is several launches, so that copies of the first of them run beside the rest.
  void add(std::span<const Tensor> batch, const RandomState& random, const OutputsReady& ready = {});
  // The same for a batch in whose memory the caller has the next one made: large parts get pinned memory, which comes
  // back with a later batch and is then copied from as it is. It stays here until the copy is over; `batch` has other
  // memory for it. Parts that somebody else holds too, or that are views, stay as they are.
  void add_and_exchange(Tensors& batch, const RandomState& random, const OutputsReady& ready = {});
  // Begins the steps that were added and do not fill a launch.
  void flush();
  // The executable's outputs: the same memory, which each step writes anew.
  std::span<const Tensor> outputs() const { return outputs_; }
  // Launches of a step.
  std::size_t launches_per_step() const { return parts_.size(); }
  // Steps of a launch.
  std::int64_t steps_per_launch() const { return steps_; }
  // Recordings made so far; more than two when memory of the captures has moved.
  std::int64_t recordings() const { return recordings_; }

 private:
  struct Block;
  // Kernels that are begun at once, and the outputs that stand after them.
  struct Part {
    std::size_t first = 0, last = 0;
    std::vector<std::size_t> outputs = {};
  };
  RecordedSteps(std::shared_ptr<Executable> executable, PlannedExecutable& planned, Device& device,
                std::span<const TensorSpec> batch, std::span<const Tensor> captures, std::int64_t steps,
                std::vector<Tensor> resident);
  // The block that the next step goes into, when it may be written.
  Block& open_block();
  void stage(Block& block, std::size_t part, const Tensor& value);
  void stage_random(Block& block, const RandomState& random);
  void finish_step(Block& block, const OutputsReady& ready);
  // Lends a part's pinned memory to the block, or copies the part; memory for the next batch comes in its place.
  void exchange(Block& block, std::size_t part, Tensor& value);
  // Pinned memory for a part that nobody uses; undefined where no more is to be had.
  Tensor spare_for(std::size_t part);
  void make_spares(std::size_t part);
  std::size_t place_of(std::size_t part) const {
    return static_cast<std::size_t>(added_) * step_bytes_ + offsets_[part];
  }
  // Copies what was staged and lent; what the compute stream does next finds it.
  void send(Block& block);
  void divide();
  void run_unrecorded(Block& block, const OutputsReady& ready);
  void enqueue(Block& block, std::int64_t steps, const Part& part);
  // The calls of a part in a step that is not the first of its launch.
  std::vector<Part> repeated(const Part& part) const;
  // Looks where the captures lie now: whether that is where they were when the block was recorded.
  bool still_there(Block& block);
  // Whether the block has a recording of its work; false where that cannot be recorded.
  bool record(Block& block);
  void end_launch(Block& block);

  const std::shared_ptr<Executable> executable_;
  PlannedExecutable& planned_;
  Device& device_;
  const Specs batch_;
  const std::vector<Tensor> resident_;  // parts of every batch; undefined where a part comes anew
  std::vector<std::size_t> offsets_;    // of a batch's parts and, last, of the random state, in a step's bytes
  std::size_t step_bytes_ = 0;
  const std::int64_t steps_;
  std::array<std::unique_ptr<Block>, 2> blocks_;
  std::size_t current_ = 0;
  std::int64_t added_ = 0, recordings_ = 0;
  bool refused_ = false;        // when it was recorded
  std::vector<Tensor> inputs_;  // undefined ones for the batch, then the captures
  std::vector<Tensor> outputs_;
  std::vector<void*> output_pointers_;
  std::vector<Part> parts_;
  std::vector<std::size_t> once_;  // calls that the first step of a launch does for all of them
  // Of parts that are exchanged: pinned memory that nobody uses, and how often such memory was given since some came
  // back last.
  std::vector<Tensors> spare_;
  std::vector<int> given_;
  std::size_t pinned_bytes_ = 0;  // given so far
};

}  // namespace cohort
