#include "tests/support/control_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static auto* messages = new cohort::test::ControlMessages;
  if (count > 2000) return -1;
  messages->send({bytes, count});
  return 0;
}
