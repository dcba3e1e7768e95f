#include "cohort/data/dataset.h"

#include <mutex>

#include "cohort/core/random.h"
#include "cohort/core/text.h"
#include "cohort/graph/trace.h"

namespace cohort {
namespace {

struct Makers {
  std::mutex mutex;
  std::map<std::string, DatasetMaker> by_kind;
};

// Never destroyed: datasets in static storage may outlive any static table.
Makers& makers() {
  static Makers* all = new Makers;
  return *all;
}

DatasetMaker find_maker(const std::string& kind) {
  Makers& all = makers();
  std::lock_guard lock(all.mutex);
  auto found = all.by_kind.find(kind);
  if (found == all.by_kind.end()) {
    throw not_found("Dataset", "a registered kind is expected", {{"kind", in_quotes(kind)}},
                    "Known kinds: " + join(all.by_kind, [](const auto& each) { return each.first; }) + ".");
  }
  return found->second;
}

}  // namespace

struct Dataset::Node {
  std::string kind;
  std::vector<Dataset> inputs;
  Attributes attributes;
  std::shared_ptr<const DatasetStage> stage;
};

bool register_dataset(const std::string& kind, DatasetMaker maker) {
  Makers& all = makers();
  std::lock_guard lock(all.mutex);
  if (!all.by_kind.emplace(kind, std::move(maker)).second) {
    throw Error(ErrorCode::AlreadyExists, "Dataset", "a kind may be registered once", {{"kind", kind}});
  }
  return true;
}

Dataset Dataset::make(std::string kind, std::vector<Dataset> inputs, Attributes attributes) {
  for (const Dataset& input : inputs) input.stage();
  auto stage = find_maker(kind)(inputs, attributes);
  Dataset dataset;
  dataset.node_ =
      std::make_shared<const Node>(Node{std::move(kind), std::move(inputs), std::move(attributes), std::move(stage)});
  return dataset;
}

Dataset Dataset::shuffle(std::int64_t buffer_size, ShuffleOptions options) const {
  // Drawn here and not by the iterator, so that the seed travels with the dataset.
  const std::int64_t seed = options.seed ? *options.seed : static_cast<std::int64_t>(next_op_seed());
  return make(
      "shuffle", {*this},
      {{"buffer_size", buffer_size}, {"seed", seed}, {"reshuffle_each_iteration", options.reshuffle_each_iteration}});
}

Dataset Dataset::batch(std::int64_t batch_size, BatchOptions options) const {
  return make("batch", {*this}, {{"batch_size", batch_size}, {"drop_remainder", options.drop_remainder}});
}

Dataset Dataset::repeat(std::int64_t count) const { return make("repeat", {*this}, {{"count", count}}); }
Dataset Dataset::take(std::int64_t count) const { return make("take", {*this}, {{"count", count}}); }
Dataset Dataset::skip(std::int64_t count) const { return make("skip", {*this}, {{"count", count}}); }
Dataset Dataset::shard(std::int64_t num_shards, std::int64_t index) const {
  return make("shard", {*this}, {{"num_shards", num_shards}, {"index", index}});
}
Dataset Dataset::prefetch(std::int64_t buffer_size) const {
  return make("prefetch", {*this}, {{"buffer_size", buffer_size}});
}
Dataset Dataset::cache() const { return make("cache", {*this}, {}); }
Dataset Dataset::enumerate() const { return make("enumerate", {*this}, {}); }

Dataset Dataset::map(const std::function<Element(const Element&)>& f, MapOptions options) const {
  const ElementSpec& spec = element_spec();
  std::string structure;
  const TracedGraph traced = trace(spec.flatten(), [&](const Tensors& leaves) {
    const Element result = f(spec.with_leaves(leaves));
    structure = structure_of(result);
    return result.flatten();
  });
  if (!traced.captures.empty()) {
    throw invalid_argument("Dataset.map", "the function may use neither variables nor iterators",
                           {{"captures", traced.captures.size()}},
                           "Pass values as tensors, or do this in the model instead.");
  }
  return make("map", {*this},
              {{"graph", traced.graph},
               {"structure", structure},
               {"num_parallel_calls", options.num_parallel_calls},
               {"deterministic", options.deterministic},
               {"seed", static_cast<std::int64_t>(global_seed())}});
}

const DatasetStage& Dataset::stage() const {
  if (!node_) {
    throw failed_precondition("Dataset", "a dataset must be made before it is used", {},
                              "Start from a source such as datasets::from_tensor_slices.");
  }
  return *node_->stage;
}

const ElementSpec& Dataset::element_spec() const { return stage().element_spec(); }
std::int64_t Dataset::cardinality() const { return stage().cardinality(); }
std::unique_ptr<DatasetIterator> Dataset::walk() const { return stage().iterator(); }
Iterator Dataset::iterator() const { return Iterator(walk(), element_spec()); }

const std::string& Dataset::kind() const { return stage(), node_->kind; }
const std::vector<Dataset>& Dataset::inputs() const { return stage(), node_->inputs; }
const Attributes& Dataset::attributes() const { return stage(), node_->attributes; }

}  // namespace cohort
