#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cohort/model/layer/layer.h"

namespace cohort::layers {

struct HashingOptions {
  std::optional<std::variant<std::int64_t, std::string>> mask_value = std::nullopt;  // has bin 0 to itself
  std::optional<std::vector<std::int64_t>> salt = std::nullopt;  // one number or two: SipHash in FarmHash's place
  std::string output_mode = "int";                               // "int", "one_hot", "multi_hot", "count"
  bool sparse = false;
  std::optional<DTypePolicy> dtype = std::nullopt;  // left out: int64 in the mode "int", else float32
  std::string name = {};
};

// Strings or integers (batch, ...) to bins by a hash that is the same everywhere.
class HashingLayer : public Layer {
 public:
  HashingLayer() : HashingLayer(1) {}
  explicit HashingLayer(std::int64_t num_bins, HashingOptions options = {});
  std::string class_name() const override { return "Hashing"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 protected:
  bool casts_inputs() const override { return false; }

 private:
  std::int64_t num_bins_;
  HashingOptions options_;
};

struct Hashing : LayerHandle<HashingLayer> {
  explicit Hashing(std::int64_t num_bins, HashingOptions options = {})
      : LayerHandle<HashingLayer>(std::make_shared<HashingLayer>(num_bins, std::move(options))) {}
};

}  // namespace cohort::layers
