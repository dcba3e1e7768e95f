#pragma once

#include "tests/golden/case.h"

namespace cohort::golden {

// One function per group: computes a case and compares every dataset it holds. Throws Skipped for a missing class.
void check_layer(Case& checked);
void check_activation(Case& checked);
void check_statistics(Case& checked);
void check_loss(Case& checked);
void check_metric(Case& checked);
void check_optimizer(Case& checked);
void check_schedule(Case& checked);
void check_regularizer(Case& checked);
void check_initializer(Case& checked);
void check_training(Case& checked);
void check_callback(Case& checked);
void check_tensorboard(Case& checked);
void check_saved(Case& checked);

// Where the i-th member of a group lies.
inline std::string numbered(const char* group, std::size_t i) { return std::string(group) + "/" + std::to_string(i); }

}  // namespace cohort::golden
