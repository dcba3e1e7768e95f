#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cohort/kernels/broadcast_plan.h"
#include "cohort/kernels/cpu/elementwise_loops.h"

namespace cohort::kernels {

// A FusedElementwise node made ready to run: its instructions bound to loops and to places in a small scratch memory
// that holds one tile of every live value.
class FusedProgram {
 public:
  explicit FusedProgram(const KernelSpec& spec);

  // Whether there is a loop for each instruction.
  bool complete() const { return complete_; }
  std::int64_t total() const { return total_; }
  std::int64_t tile() const { return tile_; }
  // Computes output elements [begin, end), at most a tile of them.
  void run_tile(const KernelIO& io, char* scratch, std::int64_t begin, std::int64_t end) const;

  static constexpr std::int64_t kScratchBytes = 48 * 1024;

 private:
  // Where a value is while a tile runs. A value that does not move is one element, the same for the whole output.
  struct Place {
    enum class Kind { Input, Slot, Output } kind = Kind::Slot;
    int index = 0;
    std::int64_t bytes = 0;
    bool moves = true;
  };
  struct Instruction {
    UnaryLoop unary = nullptr;
    BinaryLoop binary = nullptr;
    SelectLoop select = nullptr;
    CopyLoop load = nullptr;  // brings a broadcast input into a slot, row by row
    BroadcastPlan plan;
    std::array<Place, 3> operands;
    Place result;
  };
  struct Copy {
    Place from;
    int output;
    CopyLoop loop;
  };
  class Builder;

  char* at(const Place& place, const KernelIO& io, char* scratch, std::int64_t begin) const;

  bool complete_ = true;
  std::int64_t total_ = 0, tile_ = 0;
  std::vector<Instruction> instructions_;
  std::vector<Copy> copies_;
  std::vector<std::int64_t> slot_offsets_;
};

}  // namespace cohort::kernels
