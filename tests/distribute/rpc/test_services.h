#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "cohort/distribute/rpc/transport.h"
#include "tests/support/patience.h"

namespace cohort::distribute::rpc::test {

class EchoService : public Service {
 public:
  void handle(const Message& request, Message& reply) override { reply = request; }
  bool is_quick(const Message& request) const override {
    return request.parts.empty() || request.parts[0].bytes() < 65536;
  }
};

class FunctionService : public Service {
 public:
  explicit FunctionService(std::function<void(const Message&, Message&)> function) : function_(std::move(function)) {}
  void handle(const Message& request, Message& reply) override { function_(request, reply); }

 private:
  std::function<void(const Message&, Message&)> function_;
};

// A caller of an EchoService, whatever others do there, is served.
inline void expect_served(Stream& honest) {
  Message request, reply;
  request.parts = {Tensor::full({100}, 3)};
  honest.call(request, reply);
  EXPECT_EQ(reply.parts.at(0).num_elements(), 100);
}

// Tells of its steps.
class BusyService : public EchoService {
 public:
  std::uint64_t progress(std::uint64_t) const override { return steps; }
  std::atomic<std::uint64_t> steps = 0;
};

// Whether it becomes true within that time.
inline bool comes_true(const std::function<bool()>& condition, std::chrono::milliseconds within) {
  const auto deadline = std::chrono::steady_clock::now() + cohort::test::patience(within);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace cohort::distribute::rpc::test
