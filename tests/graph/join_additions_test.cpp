#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cohort/core/dispatch.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/variables/variable.h"
#include "tests/support/error_of.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

constexpr const char* kJoined = "AssignAddVariables";

Tensor uneven(const Shape& shape, DType dtype = DType::Float32) {
  std::vector<double> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 1009) / 503.7 - 0.9;
  return ops::cast(Tensor::of(values, shape), dtype);
}

// A function that adds to variables, with and without the pass; both leave the same values in the variables and give
// the same results.
class Additions {
 public:
  Additions(Variables variables, const Tensors& arguments, const std::function<Tensors(const Tensors&)>& body)
      : variables_(std::move(variables)), inputs_(arguments) {
    Specs specs;
    for (const Tensor& argument : arguments) specs.push_back(argument.spec());
    traced_ = trace(specs, body);
    inputs_.insert(inputs_.end(), traced_.captures.begin(), traced_.captures.end());
    Tensors begin;
    for (const Variable& variable : variables_) begin.push_back(variable.value().clone());
    const auto before = run({.schedule = false});
    for (std::size_t i = 0; i < begin.size(); ++i) variables_[i].assign(begin[i]);
    const auto after = run({});
    EXPECT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      SCOPED_TRACE("value " + std::to_string(i));
      test::expect_same_product(after[i], before[i], DType::Float32);
    }
  }

  // Nodes of this op once the pass has run.
  int count(const std::string& op) const {
    return static_cast<int>(
        std::count_if(nodes_.begin(), nodes_.end(), [&](const Node& node) { return node.op->name() == op; }));
  }
  // Number of variables that the first joined node adds to.
  std::size_t joined() const {
    for (const Node& node : nodes_) {
      if (node.op->name() == kJoined) return node.inputs.size() / 2;
    }
    return 0;
  }
  // What that node makes of its values.
  std::vector<std::string> reductions() const {
    for (const Node& node : nodes_) {
      if (node.op->name() == kJoined) return node.attributes.get<std::vector<std::string>>("reductions");
    }
    return {};
  }
  std::vector<double> value(std::size_t variable) const { return variables_[variable].value().to_vector<double>(); }

 private:
  std::vector<std::vector<double>> run(PassOptions passes) {
    Specs specs;
    for (const Tensor& input : inputs_) specs.push_back(input.spec());
    const auto executable = compile(*traced_.graph, specs, default_device(), passes);
    nodes_ = executable->graph().nodes;
    Tensors outputs(traced_.graph->outputs.size());
    executable->run(inputs_, outputs, {});
    std::vector<std::vector<double>> values;
    for (const Variable& variable : variables_) values.push_back(variable.value().to_vector<double>());
    for (const Tensor& output : outputs) values.push_back(output.to_vector<double>());
    return values;
  }

  Variables variables_;
  Tensors inputs_;
  TracedGraph traced_;
  std::vector<Node> nodes_;
};

Variable of(const Tensor& value) { return Variable(value, {.dtype = value.dtype()}); }
Variable counter(double value = 0, DType dtype = DType::Float32) { return of(Tensor::scalar(value, dtype)); }

TEST(JoinAdditions, CountersOfAStepAreOneNode) {
  Variable total = counter(0.3), count = counter(), steps = counter(7, int64);
  const Additions step({total, count, steps}, {uneven({64})}, [&](const Tensors& x) -> Tensors {
    total.assign_add(ops::mean(x[0]) * 64.0);
    count.assign_add(Tensor::scalar(64.0));
    steps.assign_add(Tensor::scalar(1, int64));
    return {};
  });
  EXPECT_EQ(step.count(kJoined), 1);
  EXPECT_EQ(step.joined(), 3u);
  for (const char* gone : {"AssignAddVariable", "Mean", "Multiply"}) EXPECT_EQ(step.count(gone), 0) << gone;
  EXPECT_EQ(step.value(1), std::vector<double>{64});
  EXPECT_EQ(step.value(2), std::vector<double>{8});
}

TEST(JoinAdditions, TakesSumsOfAnyShapeFactorsAndSubtractions) {
  for (const DType dtype : {float32, float64}) {
    Variable a = counter(0.1, dtype), b = counter(2, dtype), c = of(uneven({5, 7}, dtype));
    const Additions all({a, b, c}, {uneven({9, 31}, dtype), uneven({2, 3, 5}, dtype), uneven({5, 7}, dtype)},
                        [&](const Tensors& x) -> Tensors {
                          a.assign_add(ops::sum(x[0]));
                          b.assign_sub(0.7 * ops::mean(x[1]));
                          c.assign_sub(x[2]);
                          return {};
                        });
    EXPECT_EQ(all.joined(), 3u);
    for (const char* gone : {"AssignAddVariable", "AssignSubVariable", "Mean", "Sum", "Multiply"}) {
      EXPECT_EQ(all.count(gone), 0) << gone;
    }
  }
}

TEST(JoinAdditions, WrapsIntegersAround) {
  Variable a = counter(2147483647, int32), b = of(Tensor::of(std::vector<std::int64_t>{1, -2, 3}, {3}));
  const Additions both({a, b}, {Tensor::of(std::vector<std::int64_t>{10, 20, 30}, {3})},
                       [&](const Tensors& x) -> Tensors {
                         a.assign_add(Tensor::scalar(1, int32));
                         b.assign_sub(x[0]);
                         return {};
                       });
  EXPECT_EQ(both.joined(), 2u);
  EXPECT_EQ(both.value(0), std::vector<double>{-2147483648.0});
  EXPECT_EQ(both.value(1), (std::vector<double>{-9, -22, -27}));
}

TEST(JoinAdditions, KeepsTheOrderOfWritesAndReads) {
  Variable a = counter(1), b = counter(10);
  const Additions all({a, b}, {}, [&](const Tensors&) -> Tensors {
    a.assign_add(Tensor::scalar(1.0));
    b.assign_add(a.value());  // of what a is now
    const Tensor between = a.value() * 2.0;
    a.assign_add(Tensor::scalar(5.0));
    b.assign_sub(Tensor::scalar(3.0));
    return {between};
  });
  EXPECT_EQ(all.value(0), std::vector<double>{7});
  EXPECT_EQ(all.value(1), std::vector<double>{9});
}

TEST(JoinAdditions, AVariableIsReadWhereItWas) {
  Variable a(uneven({6})), b = counter(), c = counter();
  const Additions all({a, b, c}, {}, [&](const Tensors&) -> Tensors {
    const Tensor before = ops::sum(a.value());
    a.assign(ops::zeros({6}));
    b.assign_add(before);
    c.assign_add(Tensor::scalar(1.0));
    return {};
  });
  EXPECT_EQ(all.joined(), 2u);
  EXPECT_EQ(all.count("Sum"), 1);
  EXPECT_NE(all.value(1), std::vector<double>{0});
}

TEST(JoinAdditions, WhatOthersReadStays) {
  Variable a = counter(), b = counter();
  const Additions all({a, b}, {uneven({8})}, [&](const Tensors& x) -> Tensors {
    const Tensor mean = ops::mean(x[0]);
    a.assign_add(mean * 3.0);
    b.assign_add(Tensor::scalar(1.0));
    return {mean};
  });
  EXPECT_EQ(all.joined(), 2u);
  EXPECT_EQ(all.count("Mean"), 1);
  EXPECT_EQ(all.reductions(), (std::vector<std::string>{"", ""}));  // it is not computed twice
  EXPECT_EQ(all.count("Multiply"), 0);
}

TEST(JoinAdditions, LeavesWhatIsAloneOrLarge) {
  Variable a(uneven({5000})), b(uneven({70, 70})), c = counter();
  const Additions all({a, b, c}, {uneven({5000}), uneven({70, 70})}, [&](const Tensors& x) -> Tensors {
    a.assign_add(x[0]);
    b.assign_sub(x[1]);
    c.assign_add(Tensor::scalar(1.0));
    return {};
  });
  EXPECT_EQ(all.count(kJoined), 0);
  EXPECT_EQ(all.count("AssignAddVariable"), 2);
  EXPECT_EQ(all.count("AssignSubVariable"), 1);
}

TEST(JoinAdditions, AnOpThatDoesNotFitIsRefused) {
  Variable a = counter(), b = counter(0, int32);
  const auto run = [&](const Tensors& inputs, std::vector<double> factors, std::vector<std::string> reductions) {
    return test::error_of([&] { run_op_all(kJoined, inputs, {{"factors", factors}, {"reductions", reductions}}); });
  };
  const Tensor one = Tensor::scalar(1.0), whole = Tensor::scalar(1, int32);
  EXPECT_EQ(run({a.handle(), b.handle(), one, whole}, {1, -1}, {"Mean", ""}), "");
  EXPECT_NE(run({a.handle(), b.handle(), one}, {1, 1}, {"", ""}).find("for each variable"), std::string::npos);
  EXPECT_NE(run({a.handle(), one}, {1, 1}, {""}).find("for each variable"), std::string::npos);
  EXPECT_NE(run({one, a.handle()}, {1}, {""}).find("variables must come before"), std::string::npos);
  EXPECT_NE(run({a.handle(), one}, {1}, {"Max"}).find("Sum or Mean"), std::string::npos);
  EXPECT_NE(run({b.handle(), whole}, {2}, {""}).find("integers are added or subtracted"), std::string::npos);
  EXPECT_NE(run({b.handle(), one}, {1}, {""}), "");  // of another type than the variable
  EXPECT_NE(run({a.handle(), uneven({2})}, {1}, {""}), "");
}

}  // namespace
}  // namespace cohort
