#pragma once

#include <cstdint>
#include <optional>

#include "cohort/losses/loss.h"

namespace cohort::losses {

struct SparseCategoricalCrossentropyOptions {
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  std::string reduction = "sum_over_batch_size";
  int axis = -1;
  std::string name = "sparse_categorical_crossentropy";
};

// -log of the probability of the right class, which y_true names by its number; y_pred are probabilities, or logits
// when `from_logits`, with the classes as last axis. A label outside the classes is an error.
Tensor sparse_categorical_crossentropy(const Tensor& y_true, const Tensor& y_pred, bool from_logits = false,
                                       std::optional<std::int64_t> ignore_class = std::nullopt, int axis = -1);

class SparseCategoricalCrossentropyLoss : public Loss {
 public:
  explicit SparseCategoricalCrossentropyLoss(SparseCategoricalCrossentropyOptions options = {});
  std::string class_name() const override { return "SparseCategoricalCrossentropy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& y_true, const Tensor& y_pred) override;
  std::pair<Tensor, Tensor> call_masked(const Tensor& y_true, const Tensor& y_pred) override;

 protected:
  bool labels_are_classes() const override { return true; }

 private:
  SparseCategoricalCrossentropyOptions options_;
};

struct SparseCategoricalCrossentropy : Loss::Handle<SparseCategoricalCrossentropyLoss> {
  explicit SparseCategoricalCrossentropy(SparseCategoricalCrossentropyOptions options = {})
      : Handle(std::make_shared<SparseCategoricalCrossentropyLoss>(std::move(options))) {}
};

}  // namespace cohort::losses
