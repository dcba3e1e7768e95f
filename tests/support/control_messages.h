#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cohort/distribute/protocol/message.h"

namespace cohort::test {

// Decisions that bytes stand for, those of a fuzzer or random ones; zeros when they are used up.
class Choices {
 public:
  Choices(const std::uint8_t* bytes, std::size_t count) : bytes_(bytes), left_(count) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte();
  // Of at most 256.
  std::size_t below(std::size_t limit) { return byte() % limit; }
  // Often one at which something ends: a sign, a width, a limit.
  std::uint64_t number();

 private:
  const std::uint8_t* bytes_;
  std::size_t left_;
};

// A worker and a ps of this process that get every kind of control message: honest ones, in which choices have put
// other numbers, names, fields and parts. Used by one thread at a time.
class ControlMessages {
 public:
  ControlMessages();
  ~ControlMessages();
  // Lets both take part in a job and sends them as many messages as there are choices. Each must be answered, or
  // refused by an Error or for want of memory; anything else comes out of it.
  void send(Choices choices);
  // How many were answered and refused so far, and how many of each method were answered.
  int answered() const { return answered_; }
  int refused() const { return refused_; }
  int answered(distribute::Method method) const { return by_method_.at(static_cast<std::size_t>(method)); }

 private:
  class Tasks;
  struct Honest {
    distribute::Method method;
    std::function<std::string(Choices&)> meta;  // with as many changes as the choices want
    std::vector<Tensor> parts;
  };
  template <class Metadata>
  void add(distribute::Method method, const Metadata& metadata, std::vector<Tensor> parts = {});
  void send_one(Tasks& tasks, const Honest& honest, Choices& choices);

  std::vector<Honest> honest_;
  std::size_t first_of_sessions_ = 0;  // among them
  int answered_ = 0, refused_ = 0;
  std::vector<int> by_method_;
};

}  // namespace cohort::test
