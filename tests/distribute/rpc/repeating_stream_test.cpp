#include "cohort/distribute/rpc/repeating_stream.h"

#include <gtest/gtest.h>

#include "tests/distribute/rpc/test_services.h"
#include "tests/support/fault_transport.h"

namespace cohort::distribute::rpc {
namespace {

using namespace std::chrono_literals;
using cohort::test::fault_transport;
using cohort::test::FaultCounts;
using cohort::test::Faults;

constexpr const char* kTask = "worker:0";

// Gives a number back, and throws for a negative one.
void answer(const Message& request, Message& reply) {
  const int value = request.parts[0].item<int>();
  if (value < 0) throw Error(ErrorCode::OutOfRange, "negative: " + std::to_string(value));
  reply.parts = {Tensor::scalar(value, DType::Int32)};
}

Message with(int value) {
  Message message;
  message.parts = {Tensor::scalar(value, DType::Int32)};
  return message;
}

TEST(RepeatingStream, RepliesFindTheirRequestsWhateverHappensOnTheWay) {
  rpc::test::FunctionService service(answer);
  const Listener listener("127.0.0.1:0", service, kTask);
  for (const std::uint64_t seed : {1, 2, 3}) {
    auto counts = std::make_shared<FaultCounts>();
    const Faults faults{
        .seed = seed, .drop_request = 0.1, .drop_reply = 0.1, .duplicate = 0.2, .late = 0.2, .timeout = 1ms};
    RepeatingStream stream(connect({kTask, listener.address()}, {.wrap = fault_transport(faults, counts)})->open());
    int sent = 0;
    for (int received = 0; received < 300; ++received) {
      // Three in flight, as a coordinator has them.
      for (; sent < received + 3; ++sent) {
        Message request = with(sent % 7 == 6 ? -sent : sent);
        stream.send(request);
      }
      Message reply;
      if (received % 7 == 6) {
        try {
          stream.receive(reply);
          ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::OutOfRange);
          EXPECT_EQ(error.what(), std::string(kTask) + ": negative: -" + std::to_string(received));
        }
      } else {
        stream.receive(reply);
        EXPECT_EQ(reply.parts.at(0).item<int>(), received);
      }
    }
    EXPECT_GT(counts->total(), 100);
  }
}

TEST(RepeatingStream, ABrokenConnectionIsAnErrorAtOnce) {
  rpc::test::FunctionService service(answer);
  const Listener listener("127.0.0.1:0", service, kTask);
  RepeatingStream stream(connect({kTask, listener.address()}, {.wrap = fault_transport({.disconnect = 1.0})})->open());
  Message request = with(1), reply;
  try {
    stream.call(request, reply);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const RpcError& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unavailable);
  }
}

}  // namespace
}  // namespace cohort::distribute::rpc
