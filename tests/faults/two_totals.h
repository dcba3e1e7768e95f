#pragma once

#include <string>
#include <vector>

#include "cohort/cohort.h"

namespace cohort::test {

// A number on each ps; a step adds to both.
struct TwoTotals {
  explicit TwoTotals(const std::string& in_container) {
    auto building = graph.as_default();
    auto where = distribute::container(in_container);
    auto scope = device(distribute::replica_device_setter({.ps_tasks = 2}));
    Variable first(Tensor::scalar(0.0f), {.name = "total"}), second(Tensor::scalar(0.0f), {.name = "total"});
    by = graph.placeholder(float32, {});
    add = graph.operation([&] {
      first.assign_add(by);
      second.assign_add(by * 2.0f);
    });
    totals = {first.value(), second.value()};
  }
  void run(distribute::Session& session, float amount) const { session.run(add, {{by, Tensor::scalar(amount)}}); }
  std::vector<float> read(distribute::Session& session) const {
    const Tensors values = session.run({totals[0], totals[1]});
    return {values[0].item<float>(), values[1].item<float>()};
  }
  distribute::SessionGraph graph;
  Tensor by;
  distribute::Operation add;
  Tensors totals;
};

}  // namespace cohort::test
