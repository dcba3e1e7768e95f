#pragma once

#include <functional>
#include <utility>

#include "cohort/distribute/rpc/transport.h"

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

}  // namespace cohort::distribute::rpc::test
