#include "cohort/distribute/strategies/worker_agreement.h"

#include <cstdint>
#include <cstring>
#include <sstream>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/variables/variable_body.h"

namespace cohort::distribute {
namespace {

// The first line in which two texts differ, by its number; an end counts as a line.
std::pair<std::string, std::string> first_difference(const std::string& one, const std::string& other) {
  std::istringstream lines(one), others(other);
  for (;;) {
    std::string a, b;
    const bool more = static_cast<bool>(std::getline(lines, a)),
               more_others = static_cast<bool>(std::getline(others, b));
    if (!more) a = "nothing more";
    if (!more_others) b = "nothing more";
    if (a != b || (!more && !more_others)) return {a, b};
  }
}

}  // namespace

std::int64_t hash_of(std::string_view text) {
  std::uint64_t hash = text.size();
  for (const char c : text) hash = hash_combine(hash, static_cast<unsigned char>(c));
  return static_cast<std::int64_t>(hash);
}

void broadcast_bytes(collective::Communicator& workers, std::span<std::byte> bytes) {
  std::vector<std::int32_t> words((bytes.size() + sizeof(std::int32_t) - 1) / sizeof(std::int32_t));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  workers.broadcast(words.data(), static_cast<std::int64_t>(words.size()), DType::Int32);
  std::memcpy(bytes.data(), words.data(), bytes.size());
}

std::string manifest_of(const TracedGraph& step) {
  std::ostringstream text;
  for (const Tensor& capture : step.captures) {
    const auto* variable = dynamic_cast<const VariableBody*>(capture.resource().get());
    if (variable) text << "variable " << variable->path() << " " << variable->spec() << "\n";
  }
  for (const Node& node : step.graph->nodes) {
    text << "op " << node.op->name();
    for (const TensorSpec& output : node.outputs) text << " " << output;
    text << "\n";
  }
  return text.str();
}

void check_same_manifest(collective::Communicator& workers, const std::string& manifest) {
  std::vector<std::int64_t> hashes(static_cast<std::size_t>(workers.size()));
  const std::int64_t own = hash_of(manifest);
  workers.all_gather(&own, hashes.data(), 1, DType::Int64);
  bool same = true;
  for (const std::int64_t hash : hashes) same = same && hash == hashes[0];
  if (same) return;
  std::int64_t length = static_cast<std::int64_t>(manifest.size());
  workers.broadcast(&length, 1, DType::Int64);
  std::string first(static_cast<std::size_t>(length), '\0');
  if (workers.rank() == 0) first = manifest;
  broadcast_bytes(workers, std::as_writable_bytes(std::span(first.data(), first.size())));
  // All of them know now; those who differ say it first.
  if (own == hashes[0]) {
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (hashes[i] == own) continue;
      throw invalid_argument("MultiWorkerMirroredStrategy", "every worker must run the same program",
                             {{"worker that differs", i}}, "Its own error says where.");
    }
  }
  const auto [here, there] = first_difference(manifest, first);
  throw invalid_argument("MultiWorkerMirroredStrategy", "every worker must run the same program",
                         {{"of " + workers.name(), here}, {"of the first worker", there}},
                         "Start all workers with the same binary and the same arguments.");
}

}  // namespace cohort::distribute
