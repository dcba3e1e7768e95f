#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct HashingOptions {
  // Input that has bin 0 to itself; the others share the bins from 1 on. None: all share all bins.
  std::optional<std::variant<std::int64_t, std::string>> mask_value = std::nullopt;
  // One number or two that key the hash, SipHash. None: FarmHash, without a key.
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;
  // 'int': bin indices; 'one_hot': a vector for each; 'multi_hot': which bins of a row occur; 'count': how often.
  std::string output_mode = "int";
  // Must be false: sparse tensors are not supported.
  bool sparse = false;
  // Type of the output. None: int64 with output_mode 'int', otherwise float32.
  std::optional<DTypePolicy> dtype = std::nullopt;
  std::string name = {};
};
COHORT_FIELDS(HashingOptions, salt, mask_value, output_mode, sparse)

class HashingLayer : public Layer {
 public:
  HashingLayer() : HashingLayer(1) {}
  explicit HashingLayer(std::int64_t num_bins, HashingOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 protected:
  bool casts_inputs() const override { return false; }

 private:
  std::int64_t num_bins_;
  HashingOptions options_;
};

// Replaces strings or integers by the bin that a hash puts them in, the same in every process and in Keras.
// Input any shape of strings or integers, output of the same shape; with 'one_hot' a last axis of num_bins is added, in
// place of one of size 1, with 'multi_hot' and 'count' (batch, n) becomes (batch, num_bins).
//   num_bins: number of bins, that of mask_value included.
struct Hashing : LayerHandle<HashingLayer> {
  explicit Hashing(std::int64_t num_bins, HashingOptions options = {});
};

}  // namespace cohort::layers
