#include "cohort/kernels/cpu/fused_program.h"

#include <algorithm>

namespace cohort::kernels {

// Binds values to places: inputs and outputs where they lie, everything else in slots that are used again as soon as
// their value has had its last reader.
class FusedProgram::Builder {
 public:
  Builder(const KernelSpec& spec, FusedProgram& program)
      : spec_(spec),
        program_(program),
        inputs_(spec.num_inputs()),
        ops_(spec.attr<std::vector<std::string>>("ops")),
        arity_(spec.attr<std::vector<std::int64_t>>("arity")),
        args_(spec.attr<std::vector<std::int64_t>>("args")),
        dtypes_(spec.attr<std::vector<std::int64_t>>("dtypes")),
        results_(spec.attr<std::vector<std::int64_t>>("results")),
        places_(static_cast<std::size_t>(inputs_) + ops_.size()),
        last_use_(places_.size(), -1),
        output_of_(ops_.size(), -1) {}

  void build() {
    const int count = static_cast<int>(ops_.size());
    for (std::size_t i = 0, next = 0; i < ops_.size(); ++i) {
      for (std::int64_t n = 0; n < arity_[i]; ++n) last_use_[index(args_[next++])] = static_cast<int>(i);
    }
    for (std::int64_t result : results_) last_use_[index(inputs_ + result)] = count;
    choose_direct_outputs();
    for (int i = 0; i < inputs_; ++i) place_input(i);

    for (std::size_t i = 0, next = 0; i < ops_.size(); next += static_cast<std::size_t>(arity_[i]), ++i) {
      emit(static_cast<int>(i), &args_[next]);
    }
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const Place& place = places_[index(inputs_ + results_[i])];
      if (place.kind == Place::Kind::Output && place.index == static_cast<int>(i)) continue;
      program_.copies_.push_back(
          {place, static_cast<int>(i), find_copy_loop(static_cast<std::size_t>(place.bytes), place.moves)});
    }
    lay_out_slots();
  }

 private:
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  DType dtype(std::int64_t value) const {
    return value < inputs_ ? spec_.input(static_cast<int>(value)).dtype
                           : static_cast<DType>(dtypes_[index(value - inputs_)]);
  }
  bool is_single(int input) const { return spec_.input_size(input) == 1 && program_.total_ != 1; }
  bool is_dense(int input) const { return spec_.input_size(input) == program_.total_; }

  // A result is written straight to its output unless a later instruction still reads an input whose memory the output
  // may have been given.
  void choose_direct_outputs() {
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const std::int64_t result = results_[i];
      if (output_of_[index(result)] >= 0) continue;
      bool safe = true;
      for (int input = 0; input < inputs_; ++input) {
        safe = safe && !(is_dense(input) && last_use_[index(input)] > result);
      }
      if (safe) output_of_[index(result)] = static_cast<int>(i);
    }
  }

  void place_input(int input) {
    Place& place = places_[index(input)];
    place = {Place::Kind::Input, input, static_cast<std::int64_t>(cohort::size_of(dtype(input))), !is_single(input)};
  }

  // Other broadcasts than those of a single element are spread out in a slot before their first reader.
  void load_if_needed(std::int64_t value) {
    if (value >= inputs_ || places_[index(value)].kind != Place::Kind::Input) return;
    const int input = static_cast<int>(value);
    if (is_single(input) || is_dense(input)) return;
    Instruction load;
    load.plan = BroadcastPlan(spec_.output(0).shape, {&spec_.input(input).shape});
    load.operands[0] = places_[index(value)];
    load.load = find_copy_loop(static_cast<std::size_t>(load.operands[0].bytes), load.plan.moves(0));
    load.result =
        places_[index(value)] = {Place::Kind::Slot, take_slot(load.operands[0].bytes), load.operands[0].bytes, true};
    program_.instructions_.push_back(load);
  }

  void emit(int i, const std::int64_t* args) {
    const int arity = static_cast<int>(arity_[index(i)]);
    Instruction instruction;
    bool moves = false;
    for (int n = 0; n < arity; ++n) {
      load_if_needed(args[n]);
      instruction.operands[index(n)] = places_[index(args[n])];
      moves = moves || instruction.operands[index(n)].moves;
    }
    // An operand that dies here lends its slot to the result: the loops may run in place.
    for (int n = 0; n < arity; ++n) {
      const Place& operand = instruction.operands[index(n)];
      const bool seen = std::find(args, args + n, args[n]) != args + n;
      if (!seen && operand.kind == Place::Kind::Slot && last_use_[index(args[n])] == i) free_.push_back(operand.index);
    }
    const std::int64_t bytes = static_cast<std::int64_t>(cohort::size_of(dtype(inputs_ + i)));
    if (moves && output_of_[index(i)] >= 0) {
      instruction.result = {Place::Kind::Output, output_of_[index(i)], bytes, true};
    } else {
      instruction.result = {Place::Kind::Slot, take_slot(bytes), bytes, moves};
    }
    places_[index(inputs_ + i)] = instruction.result;
    bind(instruction, ops_[index(i)], dtype(args[0]), dtype(inputs_ + i), moves);
    program_.complete_ = program_.complete_ && (instruction.unary || instruction.binary || instruction.select);
    program_.instructions_.push_back(instruction);
  }

  // Where nothing moves there is one element, which the loops for moving operands compute as well as any.
  static void bind(Instruction& instruction, const std::string& op, DType operand, DType result, bool moves) {
    const auto moving = [&](std::size_t n) { return !moves || instruction.operands[n].moves; };
    if (op == "Cast") {
      instruction.unary = find_cast_loop(operand, result);
    } else if (op == "Select") {
      instruction.select = find_select_loop(cohort::size_of(result), moving(0), moving(1), moving(2));
    } else if (UnaryLoop unary = find_unary_loop(op, operand)) {
      instruction.unary = unary;
    } else {
      instruction.binary = find_binary_loops(op, operand).pick(moving(0), moving(1));
    }
  }

  int take_slot(std::int64_t bytes) {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      const int slot = free_[i];
      if (slot_bytes_[index(slot)] != bytes) continue;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return slot;
    }
    slot_bytes_.push_back(bytes);
    return static_cast<int>(slot_bytes_.size()) - 1;
  }

  void lay_out_slots() {
    constexpr std::int64_t kLargestTile = 1024, kSmallestTile = 64;
    std::int64_t bytes = 1;
    for (std::int64_t each : slot_bytes_) bytes += each;
    program_.tile_ = std::min(kLargestTile, kScratchBytes / bytes / kSmallestTile * kSmallestTile);
    if (program_.tile_ == 0) {
      throw internal_error("FusedElementwise", "fewer values must be alive at once", {{"values", slot_bytes_.size()}});
    }
    std::int64_t offset = 0;
    for (std::int64_t each : slot_bytes_) {
      program_.slot_offsets_.push_back(offset);
      offset += each * program_.tile_;
    }
  }

  const KernelSpec& spec_;
  FusedProgram& program_;
  const int inputs_;
  const std::vector<std::string> ops_;
  const std::vector<std::int64_t> arity_, args_, dtypes_, results_;
  std::vector<Place> places_;
  std::vector<int> last_use_, output_of_, free_;
  std::vector<std::int64_t> slot_bytes_;
};

FusedProgram::FusedProgram(const KernelSpec& spec) : total_(spec.output_size(0)) { Builder(spec, *this).build(); }

char* FusedProgram::at(const Place& place, const KernelIO& io, char* scratch, std::int64_t begin) const {
  if (place.kind == Place::Kind::Slot) return scratch + slot_offsets_[static_cast<std::size_t>(place.index)];
  char* memory = static_cast<char*>((place.kind == Place::Kind::Input ? io.inputs : io.outputs)[place.index]);
  return place.moves ? memory + begin * place.bytes : memory;
}

void FusedProgram::run_tile(const KernelIO& io, char* scratch, std::int64_t begin, std::int64_t end) const {
  for (const Instruction& each : instructions_) {
    const std::int64_t n = each.result.moves ? end - begin : 1;
    char* y = at(each.result, io, scratch, begin);
    if (each.load) {
      const char* x = static_cast<const char*>(io.inputs[each.operands[0].index]);
      const std::int64_t bytes = each.result.bytes;
      each.plan.walk(begin, end,
                     [&](std::int64_t position, std::int64_t rows, std::int64_t columns,
                         const BroadcastPlan::Offsets& offsets, const BroadcastPlan::Offsets& steps) {
                       each.load(x + offsets[0] * bytes, y + (position - begin) * bytes, rows, columns, steps[0]);
                     });
      continue;
    }
    const char* a = at(each.operands[0], io, scratch, begin);
    if (each.unary) {
      each.unary(a, y, n);
      continue;
    }
    const char* b = at(each.operands[1], io, scratch, begin);
    if (each.binary) {
      each.binary(a, b, y, 1, n, 0, 0);
    } else {
      const char* c = at(each.operands[2], io, scratch, begin);
      each.select(reinterpret_cast<const bool*>(a), b, c, y, 1, n, 0, 0, 0);
    }
  }
  for (const Copy& copy : copies_) {
    copy.loop(at(copy.from, io, scratch, begin), static_cast<char*>(io.outputs[copy.output]) + begin * copy.from.bytes,
              1, end - begin, 0);
  }
}

}  // namespace cohort::kernels
