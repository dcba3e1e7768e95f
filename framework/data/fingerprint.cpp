#include "cohort/data/fingerprint.h"

#include <algorithm>
#include <array>

#include "cohort/core/random.h"
#include "cohort/data/dataset.h"

namespace cohort {
namespace {

// Constants above this size count by type and shape alone.
constexpr std::size_t kMostBytes = 4096;

// What changes neither the elements nor their order, or is drawn anew by every process and saved with the position.
bool counts(const std::string& kind, const std::string& attribute) {
  constexpr std::array kNever{"seed",           "num_parallel_calls", "deterministic", "log_warning",
                              "local_function", "auto_shard_policy",  "ram_budget"};
  if (std::find(kNever.begin(), kNever.end(), attribute) != kNever.end()) return false;
  return !(kind == "prefetch" && attribute == "buffer_size");
}

class Hash {
 public:
  void add(std::uint64_t number) { value_ = hash_combine(value_, number); }
  void add(std::string_view text) {
    std::uint64_t sum = 0xCBF29CE484222325u;  // FNV-1a
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    add(sum);
    add(text.size());
  }
  void add_attributes(const std::string& kind, const Attributes& attributes) {
    std::vector<const Attributes::Entry*> entries;
    for (const Attributes::Entry& entry : attributes) {
      if (counts(kind, entry.name)) entries.push_back(&entry);
    }
    std::sort(entries.begin(), entries.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
    for (const Attributes::Entry* entry : entries) {
      add(entry->name);
      add_value(entry->value);
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_value(const AttributeValue& value) {
    if (const auto* graph = std::get_if<std::shared_ptr<const Graph>>(&value)) {
      if (*graph) add_graph(**graph);
    } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
      add_tensor(*tensor);
    } else {
      add(to_string(value));
    }
  }
  void add_tensor(const Tensor& tensor) {
    if (!tensor.defined()) return;
    add(tensor.spec().to_string());
    if (is_plain(tensor.dtype()) && tensor.bytes() <= kMostBytes && tensor.device().host_readable()) {
      add(std::string_view(static_cast<const char*>(tensor.raw()), tensor.bytes()));
    }
  }
  void add_graph(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      add(node.op->name());
      for (const Value& input : node.inputs) add_use(input);
      add_attributes(node.op->name(), node.attributes);
    }
    for (const Value& output : graph.outputs) add_use(output);
  }
  void add_use(const Value& value) {
    add(static_cast<std::uint64_t>(value.node));
    add(static_cast<std::uint64_t>(value.output));
  }

  std::uint64_t value_ = 1;
};

}  // namespace

std::uint64_t fingerprint_of(const std::string& kind, const std::vector<Dataset>& inputs,
                             const Attributes& attributes) {
  Hash hash;
  hash.add(kind);
  hash.add_attributes(kind, attributes);
  for (const Dataset& input : inputs) hash.add(input.fingerprint());
  return hash.value() | 1;  // 0 stands for none
}

}  // namespace cohort
