#include "cohort/model/layer/layer.h"

namespace cohort {

void Layer::visit_fields(FieldVisitor& visitor) {
  // A layer that is read from a config brings its name: an automatic one would be counted for nothing.
  std::string given = visitor.reads_config() ? name_ : name();
  visitor.field("name", given);
  if (!given.empty()) set_name(std::move(given));
  bool trainable = trainable_;
  visitor.field("trainable", trainable);
  if (trainable != trainable_) set_trainable(trainable);
  std::string policy = dtype_policy_.name();
  visitor.field("dtype", policy);
  if (visitor.reads_config()) dtype_policy_ = DTypePolicy(policy);
}

}  // namespace cohort
