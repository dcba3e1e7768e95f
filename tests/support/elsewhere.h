#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cohort/core/dispatch.h"
#include "cohort/model/fit/strategy.h"
#include "cohort/variables/variable_body.h"
#include "cohort/variables/variable_creator.h"

namespace cohort::test {

// Keeps variables in a place of its own inside this process: the program holds bodies without a value, and every op on
// them comes here by run(). Variables that are merged when read (metrics) stay with the program.
class Elsewhere : public VariableCreator, public ResourceOwner {
 public:
  std::shared_ptr<VariableBody> create(const InitialValue& initial, const VariableOptions& options) override;
  Tensors run(const OpDef& op, const Tensors& inputs, const Attributes& attributes, const RandomState& random) override;

  struct Made {
    std::string path;
    std::string colocated_with;  // the path of that variable
  };
  std::vector<Made> made;
  int ops_run = 0;
};

// Cuts variables of at least two rows into shards, made by another creator or (nullptr) here.
class Sharding : public VariableCreator {
 public:
  explicit Sharding(std::int64_t shards, VariableCreator* below = nullptr) : shards_(shards), below_(below) {}
  std::shared_ptr<VariableBody> create(const InitialValue& initial, const VariableOptions& options) override;

 private:
  std::int64_t shards_;
  VariableCreator* below_;
};

// Runs steps here, on variables that a creator makes.
class CreatorStrategy : public Strategy {
 public:
  explicit CreatorStrategy(VariableCreator& creator) : creator_(creator) {}
  std::unique_ptr<StepRunner> make_runner(std::shared_ptr<Program> program, const RunnerData& data,
                                          const RunnerOptions& options) override;
  VariableCreator* variable_creator() override { return &creator_; }

 private:
  VariableCreator& creator_;
};

}  // namespace cohort::test
