#include "cohort/graph/function.h"

#include <gtest/gtest.h>

#include <thread>

#include "cohort/autodiff/tape.h"
#include "cohort/core/device_spec.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"
#include "tests/support/vector.h"

namespace cohort {
namespace {

TEST(Function, TracesOncePerSignatureAndRelaxesAxesThatVary) {
  int runs = 0;
  Function f = function([&](Tensor x) {
    ++runs;
    return x * 2.0;
  });
  EXPECT_EQ(Tensor(f(vector({1, 2}))).to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(Tensor(f(vector({3, 4}))).to_vector<float>(), (std::vector<float>{6, 8}));
  EXPECT_EQ(runs, 1);
  f(vector({1, 2, 3}));  // another length: traced again with the axis unknown
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(Tensor(f(vector({1, 2, 3, 4}))).to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(f.trace_count(), 2);
}

TEST(Function, AnotherTypeIsAnotherTrace) {
  Function f = function([](Tensor x) { return x + x; });
  f(vector({1}));
  EXPECT_EQ(Tensor(f(Tensor::of<std::int32_t>({3}, {1}))).item<int>(), 6);
  EXPECT_EQ(f.trace_count(), 2);
}

TEST(Function, KeepsToItsInputSignature) {
  Function f = function([](Tensor x) { return ops::sum(x); }, {.input_signature = {{float32, {kUnknown, 2}}}});
  EXPECT_EQ(Tensor(f(Tensor::of<float>({1, 2, 3, 4}, {2, 2}))).item<float>(), 10);
  EXPECT_THROW(f(vector({1})), Error);
  EXPECT_EQ(f.trace_count(), 1);
}

TEST(Function, ReadingAValueInsideATraceNamesTheWayOut) {
  Function f = function([](Tensor x) {
    if (x.item<float>() > 0) return x;
    return x * 2.0;
  });
  try {
    f(vector({1}));
    FAIL() << "a value was read inside a trace";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::FailedPrecondition);
    EXPECT_NE(std::string(error.what()).find("ops::cond"), std::string::npos);
  }
  // Nothing is left half done: eager code runs as before.
  EXPECT_EQ(current_trace(), 0u);
  EXPECT_EQ((vector({1}) + vector({2})).item<float>(), 3);
}

TEST(Function, PrintingASymbolShowsNoValues) {
  std::string text;
  function([&](Tensor x) {
    text = x.to_string();
    return x;
  })(vector({1}));
  EXPECT_NE(text.find("symbolic"), std::string::npos);
}

TEST(Function, ASymbolKeptOutsideItsTraceIsAnError) {
  Tensor kept;
  function([&](Tensor x) {
    kept = x * 2.0;
    return x;
  })(vector({1}));
  EXPECT_THROW(kept + kept, Error);
  EXPECT_THROW(function([&](Tensor x) { return x + kept; })(vector({1})), Error);
}

TEST(Function, CapturedTensorIsAConstantCapturedVariableIsNot) {
  Tensor c = vector({10});
  Variable v(vector({1}), {.name = "v"});
  Function f = function([&](Tensor x) { return x + c + v; });
  EXPECT_EQ(Tensor(f(vector({1}))).item<float>(), 12);
  c = vector({100});
  v.assign(vector({5}));
  EXPECT_EQ(Tensor(f(vector({1}))).item<float>(), 16);
}

TEST(Function, SideEffectsOnVariablesHappenInOrder) {
  Variable v(vector({1}), {.name = "v"});
  Function f = function([&](Tensor x) {
    const Tensor before = v.value();
    v.assign_add(x);
    const Tensor between = v.value();
    v.assign(between * 10.0);
    return Tensors{before, between, v.value()};
  });
  const Results r = f(vector({2}));
  EXPECT_EQ(r[0].item<float>(), 1);
  EXPECT_EQ(r[1].item<float>(), 3);
  EXPECT_EQ(r[2].item<float>(), 30);
  EXPECT_EQ(v.value().item<float>(), 30);
}

TEST(Function, AWriteLeavesATensorReadEarlierAlone) {
  Variable v(vector({1, 2}), {.name = "v"});
  const Tensor before = v.value();
  Function f = function([&](Tensor x) { v.assign_add(x); });
  f(vector({10, 10}));
  EXPECT_EQ(before.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{11, 12}));
}

TEST(Function, FunctionsCallFunctions) {
  Function square = function([](Tensor x) { return x * x; });
  Function f = function([&](Tensor x) { return Tensor(square(x)) + Tensor(square(x + 1.0)); });
  EXPECT_EQ(Tensor(f(vector({2}))).item<float>(), 13);
}

TEST(Function, RunsFromSeveralThreads) {
  Function f = function([](Tensor x) { return ops::sum(x * x + 1.0); });
  f(Tensor::full({1000}, 1.0));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        if (Tensor(f(Tensor::full({1000}, t))).item<float>() != 1000.0f * static_cast<float>(t * t + 1)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Function, NodesCarryTheirScopeAndTheLineThatMadeThem) {
  Function f = function([](Tensor x) {
    NameScope scope("dense");
    return x + 1.0;
  });
  f(vector({1}));
  const Node& node = f.graph().nodes.back();
  EXPECT_EQ(node.name, "dense/add");
  EXPECT_NE(node.location.find("function_test.cpp:"), std::string::npos);
}

TEST(Function, ErrorsInATraceNameTheScope) {
  Function f = function([](Tensor x, Tensor y) {
    NameScope scope("my_layer");
    return x + y;
  });
  try {
    f(vector({1, 2}), vector({1, 2, 3}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("my_layer"), std::string::npos) << error.what();
  }
}

TEST(Trace, NodesRememberTheDeviceScopes) {
  const TracedGraph traced = trace({{DType::Float32, {2}}}, [](const Tensors& in) {
    const Tensor anywhere = in[0] + 1.0;
    const auto outer = device("/job:ps/task:1");
    const Tensor there = anywhere * 2.0;
    const auto inner = device("/cpu:0");
    return Tensors{there - 1.0};
  });
  std::vector<std::string> devices;
  for (const Node& node : traced.graph->nodes) {
    if (!node.inputs.empty()) devices.push_back(node.device);
  }
  EXPECT_EQ(devices, (std::vector<std::string>{"", "/job:ps/task:1", "/job:ps/task:1/device:CPU:0"}));
}

}  // namespace
}  // namespace cohort
