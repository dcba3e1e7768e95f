#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/joined_steps.h"
#include "cohort/kernels/chained_steps.h"
#include "cohort/kernels/cuda/checked_labels.h"
#include "cohort/kernels/cuda/row_finish_elements.h"
#include "cohort/kernels/cuda/softmax_rows.h"
#include "cohort/kernels/cuda/update_rules.h"

namespace cohort::kernels::cuda {
namespace {

using SmallSgd = SgdRule<float>;
using SmallMomentum = MomentumRule<float>;
using SmallAdam = AdamRule<float, false>;

enum class SmallKind { Product, SparseLoss, DenseLoss, ColumnSums, Sgd, Momentum, Adam, Addition };

// What some threads of the block do.
struct SmallTask {
  SmallKind kind;
  int first, threads;  // of a phase's threads, whole warps
  int m, n, k;
  int lanes;  // neighbouring threads that share an element of a product, or a row of logits
  bool transpose_a, transpose_b, reduces, divides, distribution;
  RowFinish::Activation activation;
  DType dtype;
  unsigned int site;
  double factor;
  union {
    SmallSgd::Options sgd;
    SmallMomentum::Options momentum;
    SmallAdam::Options adam;
  };
  static constexpr int kPointers = 7;
  void* memory[kPointers];

  template <class T>
  __device__ T* at(int pointer) const {
    return static_cast<T*>(memory[pointer]);
  }
};

// The work of a launch, a parameter of the kernel. Tasks of a phase run beside each other.
struct SmallWork {
  static constexpr int kMost = 20;
  int count = 0, phases = 0;
  int first_task[kMost + 1] = {};
  SmallTask tasks[kMost];
};
static_assert(sizeof(SmallWork) <= 4000, "parameters of a kernel have 4 KiB everywhere");

constexpr int kSmallBlock = 1024;

// Bits of the thread's place among the lanes that share something; all threads of the warp come to a merge.
__device__ inline float sum_lanes(float value, int lanes) { return sum_group<float>(value, lanes, nullptr); }

// c = a * b, and what follows: memory is a, b, bias, c.
__device__ void run_small_product(const SmallTask& task, int thread) {
  const int element = thread / task.lanes, lane = thread % task.lanes;
  const bool exists = element < task.m * task.n;
  const int row = element / task.n, column = element - row * task.n;
  const float *a = task.at<float>(0), *b = task.at<float>(1), *bias = task.at<float>(2);
  const int a_line = task.transpose_a ? 1 : task.k, a_step = task.transpose_a ? task.m : 1;
  const int b_line = task.transpose_b ? task.k : 1, b_step = task.transpose_b ? 1 : task.n;
  float sum = 0, added = 0;
  if (exists) {
    if (bias && lane == 0) added = bias[column];
#pragma unroll 4
    for (int i = lane; i < task.k; i += task.lanes) {
      sum = fmaf(a[row * a_line + i * a_step], b[column * b_line + i * b_step], sum);
    }
  }
  sum = sum_lanes(sum, task.lanes);
  if (!exists || lane != 0) return;
  task.at<float>(3)[element] = activated(bias ? sum + added : sum, task.activation);
}

// Largest logit of a row and the sum of exp(x - largest), for each of its lanes.
struct SmallRow {
  float max, sum;
};
__device__ inline SmallRow look_at_row(const float* x, int classes, int lane, int lanes) {
  SmallRow row{lowest<float>(), 0};
  for (int j = lane; j < classes; j += lanes) row.max = x[j] > row.max ? x[j] : row.max;
  row.max = merge_group<float>(row.max, lanes, nullptr, [](float a, float b) { return b > a ? b : a; });
  for (int j = lane; j < classes; j += lanes) row.sum += exp_of_negative(x[j] - row.max);
  row.sum = sum_lanes(row.sum, lanes);
  return row;
}

// Memory is dloss, logits, labels, dlogits, loss; m rows of n classes.
__device__ void run_small_sparse_loss(const SmallTask& task, int thread, cohort::cuda::ErrorRecord* errors) {
  const int at = thread / task.lanes, lane = thread % task.lanes;
  const bool exists = at < task.m;
  const int classes = exists ? task.n : 0;
  const float* x = task.at<float>(1) + at * task.n;
  const CheckedLabels labels{{task.memory[2], task.dtype}, task.n, errors, task.site};
  const std::int64_t label = exists ? labels.labels[at] : -1;
  const float dy = exists ? task.at<float>(0)[at] : 0;
  const SmallRow row = look_at_row(x, classes, lane, task.lanes);
  const float factor = 1.0f / row.sum;
  float* dx = task.at<float>(3) + at * task.n;
  for (int j = lane; j < classes; j += task.lanes) {
    dx[j] = dy * (exp_of_negative(x[j] - row.max) * factor - (j == label ? 1.0f : 0.0f));
  }
  if (!exists || lane != 0 || labels[at] < 0) return;
  task.at<float>(4)[at] = fn::log(row.sum) - (x[label] - row.max);
}

__device__ void run_small_dense_loss(const SmallTask& task, int thread) {
  const int at = thread / task.lanes, lane = thread % task.lanes;
  const bool exists = at < task.m;
  const int classes = exists ? task.n : 0;
  const float *x = task.at<float>(1) + at * task.n, *wanted = task.at<float>(2) + at * task.n;
  const float dy = exists ? task.at<float>(0)[at] : 0;
  const SmallRow row = look_at_row(x, classes, lane, task.lanes);
  const float log_sum = fn::log(row.sum);
  float loss = 0, mass = 0;
  for (int j = lane; j < classes; j += task.lanes) {
    // A label of zero takes no part: 0 * -inf must not become NaN.
    loss += wanted[j] == 0.0f ? 0.0f : wanted[j] * (log_sum - (x[j] - row.max));
    mass += wanted[j];
  }
  loss = sum_lanes(loss, task.lanes);
  mass = sum_lanes(mass, task.lanes);
  const float weight = (task.distribution ? 1.0f : mass) / row.sum;
  float* dx = task.at<float>(3) + at * task.n;
  for (int j = lane; j < classes; j += task.lanes) {
    dx[j] = dy * (exp_of_negative(x[j] - row.max) * weight - wanted[j]);
  }
  if (exists && lane == 0) task.at<float>(4)[at] = loss;
}

// Memory is x, m rows of n columns, and the sums of its columns. A warp has a column.
__device__ void run_small_sums(const SmallTask& task, int thread) {
  const int column = thread / kWarp, lane = thread % kWarp;
  const float* x = task.at<float>(0);
  float sum = 0;
  for (int row = lane; row < task.m; row += kWarp) sum += x[row * task.n + column];
  sum = sum_lanes(sum, kWarp);
  if (lane == 0) task.at<float>(1)[column] = sum;
}

// Memory is the variable, its slots, the gradient, and at the end the scalars; m elements.
template <class Rule>
__device__ void run_small_update(const SmallTask& task, int thread, const typename Rule::Options& options) {
  if (thread >= task.m) return;
  float slots[Rule::kSlots > 0 ? Rule::kSlots : 1], value = task.at<float>(0)[thread];
#pragma unroll
  for (int s = 0; s < Rule::kSlots; ++s) slots[s] = task.at<float>(1 + s)[thread];
  const float gradient = task.at<float>(3)[thread];
  const UpdateScalarInputs scalars(task.at<float>(4), task.at<std::int64_t>(5), task.at<float>(6));
  Rule::make(options, UpdateScalars<float>(scalars))(gradient, gradient * gradient, value, slots);
  task.at<float>(0)[thread] = value;
#pragma unroll
  for (int s = 0; s < Rule::kSlots; ++s) task.at<float>(1 + s)[thread] = slots[s];
}

// Memory is the variable and m values; with a reduction a warp has them. Each step is rounded as the ops do it that
// this stands for; sums are in double.
template <class T>
__device__ void add_small_reals(const SmallTask& task, int thread) {
  T* variable = task.at<T>(0);
  const T *values = task.at<T>(1), factor = static_cast<T>(task.factor);
  if (!task.reduces) {
    if (thread < task.m) variable[thread] += factor * values[thread];
    return;
  }
  double total = 0;
  for (int i = thread; i < task.m; i += kWarp) total += static_cast<double>(values[i]);
  total = sum_group<double>(total, kWarp, nullptr);
  if (thread == 0) *variable += factor * static_cast<T>(task.divides ? total / task.m : total);
}
// Integers wrap around.
template <class T>
__device__ void add_small_integers(const SmallTask& task, int thread) {
  if (thread >= task.m) return;
  T& variable = task.at<T>(0)[thread];
  const auto sum = static_cast<std::uint64_t>(variable), value = static_cast<std::uint64_t>(task.at<T>(1)[thread]);
  variable = static_cast<T>(task.factor > 0 ? sum + value : sum - value);
}
__device__ void run_small_addition(const SmallTask& task, int thread) {
  if (task.dtype == DType::Float32) return add_small_reals<float>(task, thread);
  if (task.dtype == DType::Float64) return add_small_reals<double>(task, thread);
  if (task.dtype == DType::Int32) return add_small_integers<std::int32_t>(task, thread);
  add_small_integers<std::int64_t>(task, thread);
}

__device__ void run_small_task(const SmallTask& task, int thread, cohort::cuda::ErrorRecord* errors) {
  switch (task.kind) {
    case SmallKind::Product:
      return run_small_product(task, thread);
    case SmallKind::SparseLoss:
      return run_small_sparse_loss(task, thread, errors);
    case SmallKind::DenseLoss:
      return run_small_dense_loss(task, thread);
    case SmallKind::ColumnSums:
      return run_small_sums(task, thread);
    case SmallKind::Sgd:
      return run_small_update<SmallSgd>(task, thread, task.sgd);
    case SmallKind::Momentum:
      return run_small_update<SmallMomentum>(task, thread, task.momentum);
    case SmallKind::Adam:
      return run_small_update<SmallAdam>(task, thread, task.adam);
    case SmallKind::Addition:
      return run_small_addition(task, thread);
  }
}

// One block does all tasks, phase after phase. A phase may have more threads than the block, which then does several
// rounds; whole warps have one task.
__global__ void __launch_bounds__(kSmallBlock)
    run_small_work(const __grid_constant__ SmallWork work, cohort::cuda::ErrorRecord* errors) {
  for (int phase = 0; phase < work.phases; ++phase) {
    if (phase > 0) __syncthreads();
    const int last = work.first_task[phase + 1] - 1, threads = work.tasks[last].first + work.tasks[last].threads;
    int task = work.first_task[phase];
    for (int thread = static_cast<int>(threadIdx.x); thread < threads; thread += kSmallBlock) {
      while (thread >= work.tasks[task].first + work.tasks[task].threads) ++task;
      run_small_task(work.tasks[task], thread - work.tasks[task].first, errors);
    }
  }
}

// Which of the op's values a task's pointers are, -1 for none; how many bytes it reads or writes there.
struct PlannedTask {
  SmallTask task = {};
  int values[SmallTask::kPointers] = {-1, -1, -1, -1, -1, -1, -1};
  std::size_t bytes[SmallTask::kPointers] = {};
  unsigned int written = 0;  // bits of the pointers
};

int whole_warps(std::int64_t threads) { return static_cast<int>((threads + kWarp - 1) / kWarp * kWarp); }
std::size_t bytes_of(const TensorSpec& spec) {
  return static_cast<std::size_t>(spec.shape.num_elements()) * size_of(spec.dtype);
}

// Makes tasks of steps.
class SmallPlan {
 public:
  // Nothing where a step is of another kind, or they are too many for one launch.
  static std::optional<SmallPlan> make(const KernelSpec& spec) {
    SmallPlan plan(spec);
    const JoinedSteps joined(spec.call());
    for (const JoinedSteps::Step& step : joined.steps()) {
      if (!plan.add(step)) return std::nullopt;
    }
    if (plan.tasks_.empty() || plan.tasks_.size() > SmallWork::kMost) return std::nullopt;
    return plan;
  }

  // The work on these pointers. A task begins a phase if it meets one of the present phase in memory that either
  // writes.
  SmallWork fill(const KernelIO& io) const {
    SmallWork work;
    for (const PlannedTask& planned : tasks_) {
      const int at = work.count;
      SmallTask& task = work.tasks[at] = planned.task;
      for (int p = 0; p < SmallTask::kPointers; ++p) task.memory[p] = pointer(planned.values[p], io);
      bool meets = at == 0;
      for (int other = at == 0 ? 0 : work.first_task[work.phases - 1]; other < at; ++other) {
        meets = meets || meet(planned, task, tasks_[static_cast<std::size_t>(other)], work.tasks[other]);
      }
      if (meets) work.first_task[work.phases++] = at;
      task.first = meets ? 0 : work.tasks[at - 1].first + work.tasks[at - 1].threads;
      work.first_task[work.phases] = ++work.count;
    }
    return work;
  }

 private:
  explicit SmallPlan(const KernelSpec& spec) : spec_(&spec), inputs_(spec.num_inputs()) {}

  void* pointer(int value, const KernelIO& io) const {
    return value < 0 ? nullptr : value < inputs_ ? io.inputs[value] : io.outputs[value - inputs_];
  }
  static bool meet(const PlannedTask& a, const SmallTask& a_task, const PlannedTask& b, const SmallTask& b_task) {
    for (int i = 0; i < SmallTask::kPointers; ++i) {
      for (int j = 0; j < SmallTask::kPointers; ++j) {
        const char *x = static_cast<const char*>(a_task.memory[i]), *y = static_cast<const char*>(b_task.memory[j]);
        const bool writes = (a.written >> i & 1u) || (b.written >> j & 1u);
        if (x && y && writes && x < y + b.bytes[j] && y < x + a.bytes[i]) return true;
      }
    }
    return false;
  }

  bool add(const JoinedSteps::Step& step) {
    const std::string& op = step.op->name();
    if (op == "MatMul" || op == "FusedMatMul") return add_product(step);
    if (op == "MatMulBiasGrad") return add_product(step) && add_sums(step, 1, 1);
    if (op == "SparseSoftmaxCrossEntropyAndGrad") return add_loss(step, SmallKind::SparseLoss);
    if (op == "SoftmaxCrossEntropyAndGrad") return add_loss(step, SmallKind::DenseLoss);
    if (op == "SumToLike") return step.output_specs[0].shape.rank() == 1 && add_sums(step, 0, 0);
    if (op == "AssignAddVariables") return add_additions(step);
    if (op == "SGDUpdate") return add_update<SmallSgd>(step, SmallKind::Sgd, &SmallTask::sgd);
    if (op == "MomentumUpdate") return add_update<SmallMomentum>(step, SmallKind::Momentum, &SmallTask::momentum);
    if (op == "AdamUpdate" && !step.call().attr<bool>("amsgrad")) {
      return add_update<SmallAdam>(step, SmallKind::Adam, &SmallTask::adam);
    }
    return false;
  }

  static bool is_matrix(const TensorSpec& spec) { return spec.dtype == DType::Float32 && spec.shape.rank() == 2; }
  static void read(PlannedTask& planned, int pointer, const JoinedSteps::Step& step, int input) {
    const auto at = static_cast<std::size_t>(input);
    planned.values[pointer] = step.inputs[at];
    planned.bytes[pointer] = bytes_of(step.input_specs[at]);
  }
  void write(PlannedTask& planned, int pointer, const JoinedSteps::Step& step, int output) const {
    planned.values[pointer] = inputs_ + step.first_output + output;
    planned.bytes[pointer] = bytes_of(step.output_specs[static_cast<std::size_t>(output)]);
    planned.written |= 1u << pointer;
  }
  // A variable of so many bytes.
  static void change(PlannedTask& planned, int pointer, const JoinedSteps::Step& step, int input, std::size_t bytes) {
    planned.values[pointer] = step.inputs[static_cast<std::size_t>(input)];
    planned.bytes[pointer] = bytes;
    planned.written |= 1u << pointer;
  }

  bool add_product(const JoinedSteps::Step& step) {
    const OpCall call = step.call();
    const TensorSpec &a = step.input_specs[0], &c = step.output_specs[0];
    if (!is_matrix(a) || !is_matrix(step.input_specs[1]) || !is_matrix(c)) return false;
    const bool fused = step.op->name() == "FusedMatMul", has_bias = step.inputs.size() > 2;
    if (has_bias && step.input_specs[2].dtype != DType::Float32) return false;
    PlannedTask planned;
    SmallTask& task = planned.task;
    task.kind = SmallKind::Product;
    task.transpose_a = call.attr<bool>("transpose_a");
    task.transpose_b = call.has_attr("transpose_b") && call.attr<bool>("transpose_b");
    task.m = static_cast<int>(c.shape[0]);
    task.n = static_cast<int>(c.shape[1]);
    task.k = static_cast<int>(a.shape[task.transpose_a ? 0 : 1]);
    task.activation =
        RowFinish(DType::Float32, fused ? call.attr<std::string>("activation") : "", has_bias, false).activation();
    // As many threads share an element as the block has for it, each with a few of its terms.
    const std::int64_t elements = c.shape.num_elements(),
                       spare = elements > 0 ? std::min<std::int64_t>(kSmallBlock / elements, task.k / 4) : 1;
    task.lanes =
        static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(std::clamp<std::int64_t>(spare, 1, kWarp))));
    task.threads = whole_warps(elements * task.lanes);
    for (int i = 0; i < (has_bias ? 3 : 2); ++i) read(planned, i, step, i);
    write(planned, 3, step, 0);
    return put(planned);
  }

  bool add_loss(const JoinedSteps::Step& step, SmallKind kind) {
    const OpCall call = step.call();
    const TensorSpec& logits = step.input_specs[1];
    const bool sparse = kind == SmallKind::SparseLoss;
    if (!is_matrix(logits) || !is_matrix(step.output_specs[0]) || step.output_specs[1].dtype != DType::Float32 ||
        (!sparse && !is_matrix(step.input_specs[2]))) {
      return false;
    }
    PlannedTask planned;
    SmallTask& task = planned.task;
    task.kind = kind;
    task.m = static_cast<int>(logits.shape[0]);
    task.n = static_cast<int>(logits.shape[1]);
    task.dtype = step.input_specs[2].dtype;
    task.lanes = static_cast<int>(
        std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(logits.shape[1], 1, kWarp))));
    task.threads = whole_warps(logits.shape[0] * task.lanes);
    if (sparse) {
      task.site = add_label_check(KernelSpec(call, step.output_specs, spec_->device(), step.name), task.n);
    } else {
      task.distribution = call.attr<bool>("assume_distribution");
    }
    for (int i = 0; i < 3; ++i) read(planned, i, step, i);
    for (int i = 0; i < 2; ++i) write(planned, 3 + i, step, i);
    return put(planned);
  }

  // Of the columns of an input.
  bool add_sums(const JoinedSteps::Step& step, int input, int output) {
    const TensorSpec &x = step.input_specs[static_cast<std::size_t>(input)],
                     &sums = step.output_specs[static_cast<std::size_t>(output)];
    if (!is_matrix(x) || sums.dtype != DType::Float32 || sums.shape.num_elements() != x.shape[1]) return false;
    PlannedTask planned;
    planned.task.kind = SmallKind::ColumnSums;
    planned.task.m = static_cast<int>(x.shape[0]);
    planned.task.n = static_cast<int>(x.shape[1]);
    planned.task.threads = static_cast<int>(x.shape[1]) * kWarp;
    read(planned, 0, step, input);
    write(planned, 1, step, output);
    return put(planned);
  }

  template <class Rule>
  bool add_update(const JoinedSteps::Step& step, SmallKind kind, typename Rule::Options SmallTask::*options) {
    const OpCall call = step.call();
    const UpdateLayout at(call);
    if (at.has_squares() || at.has_rounded() || at.slots() != Rule::kSlots || at.num_shared() > 3) return false;
    for (int v = 0; v < at.count(); ++v) {
      const TensorSpec& gradient = step.input_specs[static_cast<std::size_t>(at.gradient(v))];
      if (gradient.dtype != DType::Float32) return false;
      PlannedTask planned;
      planned.task.kind = kind;
      planned.task.m = static_cast<int>(gradient.shape.num_elements());
      planned.task.threads = whole_warps(gradient.shape.num_elements());
      planned.task.*options = Rule::options(KernelSpec(call, step.output_specs, spec_->device(), step.name));
      change(planned, 0, step, at.variable(v), bytes_of(gradient));
      for (int s = 0; s < Rule::kSlots; ++s) change(planned, 1 + s, step, at.slot(v, s), bytes_of(gradient));
      read(planned, 3, step, at.gradient(v));
      for (int i = 0; i < at.num_shared(); ++i) read(planned, 4 + i, step, at.shared(i));
      put(planned);
    }
    return true;
  }

  bool add_additions(const JoinedSteps::Step& step) {
    const OpCall call = step.call();
    const auto factors = call.attr<std::vector<double>>("factors");
    const auto reductions = call.attr<std::vector<std::string>>("reductions");
    const int count = static_cast<int>(factors.size());
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const TensorSpec& values = step.input_specs[static_cast<std::size_t>(count + i)];
      PlannedTask planned;
      SmallTask& task = planned.task;
      task.kind = SmallKind::Addition;
      task.m = static_cast<int>(values.shape.num_elements());
      task.dtype = values.dtype;
      task.factor = factors[at];
      task.reduces = !reductions[at].empty();
      task.divides = reductions[at] == "Mean";
      task.threads = task.reduces ? kWarp : whole_warps(task.m);
      change(planned, 0, step, i, task.reduces ? size_of(values.dtype) : bytes_of(values));
      read(planned, 1, step, count + i);
      put(planned);
    }
    return true;
  }

  bool put(const PlannedTask& planned) {
    if (planned.task.threads > 0) tasks_.push_back(planned);
    return true;
  }

  const KernelSpec* spec_;  // while it is made
  int inputs_;
  std::vector<PlannedTask> tasks_;
};

KernelFn make_joined_steps(const KernelSpec& spec) {
  std::optional<SmallPlan> made = SmallPlan::make(spec);
  if (!made) return make_chained_steps(spec);
  auto plan = std::make_shared<const SmallPlan>(*std::move(made));
  auto* errors = cohort::cuda::device_of(spec).error_record();
  return [plan, errors](const KernelIO& io) {
    run_small_work<<<1, kSmallBlock, 0, stream_of(io)>>>(plan->fill(io), errors);
    cohort::cuda::check(cudaGetLastError());
  };
}

COHORT_KERNEL("JoinedSteps", kGPU, make_joined_steps);

}  // namespace
}  // namespace cohort::kernels::cuda
