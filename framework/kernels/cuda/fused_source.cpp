#include "cohort/kernels/cuda/fused_source.h"

#include <algorithm>
#include <numeric>

#include "cohort/core/error.h"
#include "cohort/kernels/cuda/fused_axes.h"

namespace cohort::kernels::cuda {
namespace {

// Bytes of the largest access to memory, and the most elements a thread takes at once.
constexpr int kAccessBytes = 16, kMostAtOnce = 8;
// Packs for which a thread asks before it computes the first, where it keeps rows in registers: fewer threads then have
// to keep memory busy.
constexpr int kPacksAtOnce = 2;
// Blocks that every large GPU takes at once.
constexpr std::int64_t kMostMultiple = 512;

const char* type_of(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "bool";
    case DType::UInt8:
      return "unsigned char";
    case DType::Int8:
      return "signed char";
    case DType::Int32:
      return "int";
    case DType::Int64:
      return "long long";
    case DType::Float16:
      return "Half";
    case DType::BFloat16:
      return "BFloat16";
    case DType::Float64:
      return "double";
    default:
      return "float";
  }
}

std::string numbered(const char* name, std::size_t number) { return name + std::to_string(number); }

}  // namespace

class FusedSource::Writer {
 public:
  Writer(const KernelSpec& spec, FusedSource& source)
      : spec_(spec),
        source_(source),
        axes_(spec),
        inputs_(static_cast<std::size_t>(spec.num_inputs())),
        outputs_(static_cast<std::size_t>(spec.num_outputs())),
        ops_(spec.attr<std::vector<std::string>>("ops")),
        arity_(spec.attr<std::vector<std::int64_t>>("arity")),
        args_(spec.attr<std::vector<std::int64_t>>("args")),
        dtypes_(spec.attr<std::vector<std::int64_t>>("dtypes")),
        results_(spec.attr<std::vector<std::int64_t>>("results")),
        wide_(source.total_ >= std::int64_t{1} << 31) {}

  void write() {
    choose_access();
    find_lasting_rows();
    list_sizes();
    write_arguments();
    write_rows();
    write_compute();
    write_kernel();
    source_.text_ = std::move(text_);
  }

 private:
  using Walk = FusedAxes::Walk;

  DType input_type(std::size_t i) const { return spec_.input(static_cast<int>(i)).dtype; }
  DType output_type(std::size_t i) const { return spec_.output(static_cast<int>(i)).dtype; }
  DType value_type(std::int64_t value) const {
    const auto number = static_cast<std::size_t>(value);
    return number < inputs_ ? input_type(number) : static_cast<DType>(dtypes_[number - inputs_]);
  }
  bool is_row(std::size_t broadcast) const { return axes_.strides.back()[broadcast] == 1; }
  void line(const std::string& text) { text_ += text + "\n"; }

  // By the narrowest of the numbers that move; bytes go along.
  void choose_access() {
    std::size_t narrowest = kAccessBytes;
    auto consider = [&](DType dtype) {
      if (const std::size_t bytes = size_of(dtype); bytes > 1) narrowest = std::min(narrowest, bytes);
    };
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (axes_.walks[i] == Walk::Dense) consider(input_type(i));
    }
    for (std::size_t i = 0; i < outputs_; ++i) consider(output_type(i));
    int at_once = narrowest == kAccessBytes ? kMostAtOnce : kAccessBytes / static_cast<int>(narrowest);
    // A pack never crosses from one row to the next.
    while (axes_.sizes.size() > 1 && axes_.sizes.back() % at_once != 0) at_once /= 2;
    source_.per_access_ = at_once;
    if (at_once == 1) return;
    auto access = [&](std::size_t argument, DType dtype) {
      const int bytes = at_once * static_cast<int>(size_of(dtype));
      source_.packed_accesses_.push_back({static_cast<int>(argument), std::min(bytes, kAccessBytes)});
    };
    for (std::size_t i = 0, broadcast = 0; i < inputs_; ++i) {
      if (axes_.walks[i] == Walk::Dense || (axes_.walks[i] == Walk::Broadcast && is_row(broadcast))) {
        access(i, input_type(i));
      }
      broadcast += axes_.walks[i] == Walk::Broadcast;
    }
    for (std::size_t i = 0; i < outputs_; ++i) access(inputs_ + i, output_type(i));
  }

  // Rows along the last of two axes are all that is broadcast: with the right number of blocks a thread steps from one
  // row to the same place in another.
  void find_lasting_rows() {
    if (axes_.sizes.size() != 2 || source_.per_access_ == 1) return;
    for (std::size_t i = 0; i < axes_.strides[0].size(); ++i) {
      if (axes_.strides[0][i] != 0 || !is_row(i)) return;
    }
    const std::int64_t row = axes_.sizes.back();
    const std::int64_t multiple = row / std::gcd(row, kThreads * source_.per_access_);
    if (multiple > kMostMultiple) return;
    rows_last_ = true;
    source_.blocks_multiple_ = multiple;
  }

  void list_sizes() {
    if (axes_.sizes.size() == 1) return;
    for (std::int64_t size : axes_.sizes) {
      source_.sizes_.push_back(static_cast<std::uint64_t>(size));
      const Division division(wide_ ? 1 : static_cast<std::uint32_t>(size));
      source_.sizes_.push_back(division.magic | std::uint64_t{division.shift} << 32);
    }
    for (const auto& strides : axes_.strides) {
      for (std::int64_t stride : strides) source_.sizes_.push_back(static_cast<std::uint64_t>(stride));
    }
  }

  void write_arguments() {
    line("#include \"cohort/kernels/element_bits.h\"");
    line("#include \"cohort/kernels/functors.h\"");
    line("using namespace cohort;");
    line("using namespace cohort::bits;");
    line(wide_ ? "using Index = unsigned long long;" : "using Index = unsigned int;");
    line("constexpr int kAtOnce = " + std::to_string(source_.per_access_) + ";");
    if (axes_.sizes.size() > 1) {
      line("struct Axis {\n  long long size;\n  unsigned int magic, shift;\n};");
      line("__device__ inline Index quotient(Index number, const Axis& axis) {");
      line(wide_ ? "  return number / static_cast<Index>(axis.size);"
                 : "  return (__umulhi(number, axis.magic) + number) >> axis.shift;");
      line("}");
    }
    line("struct Arguments {");
    line("  const void* inputs[" + std::to_string(inputs_) + "];");
    line("  void* outputs[" + std::to_string(outputs_) + "];");
    line("  long long packs, elements;");
    if (axes_.sizes.size() > 1) {
      const std::string rank = std::to_string(axes_.sizes.size());
      line("  Axis axes[" + rank + "];");
      line("  long long strides[" + rank + "][" + std::to_string(axes_.strides[0].size()) + "];");
    }
    line("};");
  }

  // Where each broadcast input is for the element `at`, by its index along each axis.
  void write_offsets() {
    const std::size_t rank = axes_.sizes.size();
    if (rank == 1) return;
    line("  Index rest = at;");
    for (std::size_t axis = rank - 1; axis > 0; --axis) {
      const std::string number = std::to_string(axis);
      line("  const Index above" + number + " = quotient(rest, arguments.axes[" + number + "]);");
      line("  const Index along" + number + " = rest - above" + number + " * static_cast<Index>(arguments.axes[" +
           number + "].size);");
      line("  rest = above" + number + ";");
    }
    line("  const Index along0 = rest;");
    for (std::size_t i = 0; i < axes_.strides[0].size(); ++i) {
      std::string sum;
      for (std::size_t axis = 0; axis < rank; ++axis) {
        const std::int64_t stride = axes_.strides[axis][i];
        if (stride == 0) continue;
        const std::string number = std::to_string(axis);
        sum += (sum.empty() ? "along" : " + along") + number;
        // The last axis has a stride of one.
        if (axis + 1 < rank)
          sum += " * static_cast<Index>(arguments.strides[" + number + "][" + std::to_string(i) + "])";
      }
      line("  const Index " + numbered("offset", i) + " = " + (sum.empty() ? "0" : sum) + ";");
    }
  }

  // What is broadcast, as far as a pack needs it.
  void write_rows() {
    line("template <int kCount>");
    line("struct Rows {");
    for (std::size_t i = 0, broadcast = 0; i < inputs_; ++i) {
      if (axes_.walks[i] != Walk::Broadcast) continue;
      line(std::string("  Pack<") + type_of(input_type(i)) + ", " + row_count(broadcast++) + "> " + numbered("in", i) +
           ";");
    }
    line("};");
    line("template <int kCount>");
    line("__device__ __forceinline__ Rows<kCount> rows_of(const Arguments& arguments, Index at) {");
    line("  Rows<kCount> rows;");
    write_offsets();
    for (std::size_t i = 0, broadcast = 0; i < inputs_; ++i) {
      if (axes_.walks[i] != Walk::Broadcast) continue;
      line("  rows." + numbered("in", i) + " = load<" + type_of(input_type(i)) + ", " + row_count(broadcast) +
           ">(arguments.inputs[" + std::to_string(i) + "], " + numbered("offset", broadcast) + ");");
      ++broadcast;
    }
    line("  return rows;");
    line("}");
  }
  const char* row_count(std::size_t broadcast) const { return is_row(broadcast) ? "kCount" : "1"; }

  void write_values() {
    for (std::size_t i = 0, broadcast = 0; i < inputs_; ++i) {
      std::string element = numbered("single", i);
      if (axes_.walks[i] == Walk::Dense) element = numbered("in", i) + "[p].values[k]";
      if (axes_.walks[i] == Walk::Broadcast) {
        element = "rows." + numbered("in", i) + (is_row(broadcast++) ? ".values[k]" : ".values[0]");
      }
      line("    [[maybe_unused]] const auto " + numbered("v", i) + " = widened(" + element + ");");
    }
    for (std::size_t i = 0, next = 0; i < ops_.size(); next += static_cast<std::size_t>(arity_[i]), ++i) {
      const DType dtype = static_cast<DType>(dtypes_[i]);
      const std::string type = type_of(dtype);
      std::string operands;
      for (std::int64_t n = 0; n < arity_[i]; ++n) {
        operands +=
            (n > 0 ? ", " : "") + numbered("v", static_cast<std::size_t>(args_[next + static_cast<std::size_t>(n)]));
      }
      std::string result = "fn::" + ops_[i] + "{}(" + operands + ")";
      if (ops_[i] == "Cast") {
        const bool small =
            dtype == DType::UInt8 || dtype == DType::Int8;  // what remains of it in 32 bits, as elsewhere
        const std::string number = small ? "static_cast<int>(" + operands + ")" : operands;
        result = dtype == DType::Bool ? operands + " != 0" : "static_cast<Compute<" + type + ">>(" + number + ")";
      }
      line("    const auto " + numbered("v", inputs_ + i) + " = rounded<" + type + ">(" + result + ");");
    }
    for (std::size_t i = 0; i < outputs_; ++i) {
      line("    " + numbered("out", i) + "[p].values[k] = narrowed<" + type_of(output_type(i)) + ">(" +
           numbered("v", inputs_ + static_cast<std::size_t>(results_[i])) + ");");
    }
  }

  // Packs `step` elements apart. All is loaded before anything is stored: an output may lie where an input does.
  void write_compute() {
    line("template <int kPacks, int kCount>");
    line(
        "__device__ __forceinline__ void compute(const Arguments& arguments, Index at, Index step, "
        "const Rows<kCount>& rows" +
        singles(true) + ") {");
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (axes_.walks[i] != Walk::Dense) continue;
      const std::string type = type_of(input_type(i)), in = numbered("in", i);
      line("  Pack<" + type + ", kCount> " + in + "[kPacks];");
      line("#pragma unroll");
      line("  for (int p = 0; p < kPacks; ++p) " + in + "[p] = load<" + type + ", kCount>(arguments.inputs[" +
           std::to_string(i) + "], at + p * step);");
    }
    for (std::size_t i = 0; i < outputs_; ++i) {
      line(std::string("  Pack<") + type_of(output_type(i)) + ", kCount> " + numbered("out", i) + "[kPacks];");
    }
    line("#pragma unroll");
    line("  for (int p = 0; p < kPacks; ++p)");
    line("#pragma unroll");
    line("  for (int k = 0; k < kCount; ++k) {");
    write_values();
    line("  }");
    for (std::size_t i = 0; i < outputs_; ++i) {
      line("#pragma unroll");
      line("  for (int p = 0; p < kPacks; ++p) store(arguments.outputs[" + std::to_string(i) + "], at + p * step, " +
           numbered("out", i) + "[p]);");
    }
    line("}");
  }

  // The single elements as parameters of compute, or as what is handed to it.
  std::string singles(bool declared) const {
    std::string list;
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (axes_.walks[i] != Walk::Single) continue;
      list += ", " + (declared ? type_of(input_type(i)) + std::string(" ") : std::string()) + numbered("single", i);
    }
    return list;
  }

  void write_kernel() {
    line("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(kThreads) +
         ") fused(const __grid_constant__ Arguments arguments) {");
    for (std::size_t i = 0; i < inputs_; ++i) {
      if (axes_.walks[i] != Walk::Single) continue;
      line(std::string("  const auto ") + numbered("single", i) + " = *static_cast<const " + type_of(input_type(i)) +
           "*>(arguments.inputs[" + std::to_string(i) + "]);");
    }
    line("  const Index packs = static_cast<Index>(arguments.packs);");
    line("  const Index elements = static_cast<Index>(arguments.elements);");
    line("  const Index stride = static_cast<Index>(gridDim.x) * blockDim.x;");
    line("  const Index first = static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;");
    if (source_.per_access_ > 1) write_packs();
    line("  for (Index at = packs * kAtOnce + first; at < elements; at += stride)");
    line("    compute<1, 1>(arguments, at, 0, rows_of<1>(arguments, at)" + singles(false) + ");");
    line("}");
  }

  void write_packs() {
    line("  Index i = first;");
    if (rows_last_) {
      const std::string more = std::to_string(kPacksAtOnce);
      line("  if (i < packs) {");
      line("    const Rows<kAtOnce> rows = rows_of<kAtOnce>(arguments, i * kAtOnce);");
      line("    for (; i + " + std::to_string(kPacksAtOnce - 1) + " * stride < packs; i += " + more + " * stride)");
      line("      compute<" + more + ", kAtOnce>(arguments, i * kAtOnce, stride * kAtOnce, rows" + singles(false) +
           ");");
      line("    for (; i < packs; i += stride)");
      line("      compute<1, kAtOnce>(arguments, i * kAtOnce, 0, rows" + singles(false) + ");");
      line("  }");
    } else {
      line("  for (; i < packs; i += stride)");
      line("    compute<1, kAtOnce>(arguments, i * kAtOnce, 0, rows_of<kAtOnce>(arguments, i * kAtOnce)" +
           singles(false) + ");");
    }
  }

  const KernelSpec& spec_;
  FusedSource& source_;
  const FusedAxes axes_;
  const std::size_t inputs_, outputs_;
  const std::vector<std::string> ops_;
  const std::vector<std::int64_t> arity_, args_, dtypes_, results_;
  const bool wide_;
  bool rows_last_ = false;
  std::string text_;
};

FusedSource::FusedSource(const KernelSpec& spec) : total_(spec.output_size(0)) { Writer(spec, *this).write(); }

}  // namespace cohort::kernels::cuda
