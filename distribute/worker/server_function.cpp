#include "cohort/distribute/worker/server_function.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cohort/graph/partition.h"
#include "cohort/graph/write_effects.h"

namespace cohort::distribute {
namespace {

constexpr std::size_t kFewBytes = std::size_t{32} << 10;

// A value that the next write leaves alone. What is small is copied sooner than shared and copied by that write.
Tensor value_to_send(LocalVariable& variable) {
  constexpr std::size_t kCopied = std::size_t{8} << 10;
  const TensorSpec& spec = variable.spec();
  const std::size_t bytes = static_cast<std::size_t>(spec.shape.num_elements()) * size_of(spec.dtype);
  if (bytes > kCopied) return variable.shared_value();
  Tensor copy = Tensor::empty(spec.dtype, spec.shape, cpu());
  std::memcpy(copy.raw(), variable.kernel_pointer(), bytes);
  return copy;
}

// Each once, in any order.
void sort_out_repeats(std::vector<Reservable*>& things) {
  std::sort(things.begin(), things.end());
  things.erase(std::unique(things.begin(), things.end()), things.end());
}

std::size_t tensors_before(const Graph& graph, std::size_t variables) {
  if (graph.inputs.size() < variables) {
    throw invalid_argument("Server", "a function's graph must have an input for each variable",
                           {{"inputs", graph.inputs.size()}, {"variables", variables}});
  }
  const std::size_t tensors = graph.inputs.size() - variables;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const bool resource = graph.input_specs()[i].dtype == DType::Resource;
    if (resource != (i >= tensors)) {
      throw invalid_argument("Server", "a function's graph takes tensors first, then variables", {{"input", i}});
    }
  }
  return tensors;
}

}  // namespace

SentVariables::SentVariables(StoredVariables variables) : variables_(std::move(variables)) {
  for (const auto& variable : variables_) reserved_.push_back(variable.get());
  sort_out_repeats(reserved_);
}

void SentVariables::append_newer(std::uint64_t version, Tensors& parts) const {
  const std::size_t before = parts.size();
  parts.reserve(before + variables_.size());
  for (const auto& variable : variables_) {
    parts.push_back(variable->written > version ? value_to_send(*variable->body) : Tensor());
  }
  while (parts.size() > before && !parts.back().defined()) parts.pop_back();
}

ServerPart::ServerPart(std::shared_ptr<const Graph> graph, StoredVariables variables, StoredVariables fresh)
    : num_sent_(tensors_before(*graph, variables.size())),
      inputs_(num_sent_),
      variables_(std::move(variables)),
      fresh_(std::move(fresh)) {
  std::size_t bytes = 0;
  for (const auto& variable : variables_) {
    inputs_.push_back(variable->handle);
    reserved_.push_back(variable.get());
    const TensorSpec& spec = variable->body->spec();
    bytes += static_cast<std::size_t>(spec.shape.num_elements()) * size_of(spec.dtype);
  }
  is_small_ = bytes <= kFewBytes;
  for (int position : written_inputs(*graph)) {
    written_.push_back(variables_[static_cast<std::size_t>(position) - num_sent_].get());
  }
  if (writes()) {
    repeat_ = std::make_unique<ExecutableCache>(std::make_shared<Graph>(without_writes(*graph)));
    may_fail_half_way_ = cohort::may_fail_half_way(*graph);
    RowsWritten rows = rows_written(*graph);
    row_counts_ = std::move(rows.rows);
    if (!row_counts_.empty()) rows_ = std::make_unique<ExecutableCache>(std::make_shared<Graph>(std::move(rows.graph)));
  }
  apply_ = std::make_unique<ExecutableCache>(std::move(graph));
  reserved_.insert(reserved_.end(), fresh_.reserved().begin(), fresh_.reserved().end());
  reserved_.push_back(this);  // for inputs_
  sort_out_repeats(reserved_);
}

ServerPart::Bound::Bound(ServerPart& part, const Tensors& sent) : part(part) {
  if (sent.size() != part.num_sent_) {
    throw invalid_argument("Server", "an exchange must bring what its function's graph takes",
                           {{"parts", sent.size()}, {"expected", part.num_sent_}});
  }
  for (std::size_t i = 0; i < sent.size(); ++i) part.inputs_[i] = sent[i].to(cpu());
}

ServerPart::Bound::~Bound() {
  for (std::size_t i = 0; i < part.num_sent_; ++i) part.inputs_[i] = {};
}

void ServerPart::run(ExecutableCache& executables, Tensors& results) {
  results.resize(executables.graph()->outputs.size());
  executables.run(inputs_, results, {}, cpu());
}

void ServerPart::check_rows() {
  if (!rows_) return;
  Tensors numbers;
  run(*rows_, numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (const std::int64_t row : numbers[i].to_vector<std::int64_t>()) {
      if (row < 0 || row >= row_counts_[i]) {
        throw invalid_argument("Server", "a bundle adds to rows that its variables have",
                               {{"row", row}, {"rows", row_counts_[i]}});
      }
    }
  }
}

// Values that are held here are left alone: whoever writes moves to memory of its own.
void ServerPart::apply_or_restore(Tensors& returned) {
  Tensors before;
  if (may_fail_half_way_) {
    for (const StoredVariable* variable : written_) before.push_back(variable->body->shared_value());
  }
  try {
    run(*apply_, returned);
  } catch (...) {
    for (std::size_t i = 0; i < before.size(); ++i) written_[i]->body->replace_value(std::move(before[i]));
    throw;
  }
}

void ServerPart::apply(const Tensors& sent, Tensors& returned) {
  const Bound bound(*this, sent);
  check_rows();
  apply_or_restore(returned);
}

void ServerPart::repeat(const Tensors& sent, Tensors& returned) {
  const Bound bound(*this, sent);
  run(*repeat_, returned);
}

void ServerPart::mark_written(std::uint64_t version) {
  for (StoredVariable* variable : written_) variable->written = version;
}

}  // namespace cohort::distribute
