#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/protocol/message.h"

namespace cohort::distribute::collective {

// What ranks say of themselves when they meet.
struct Greeting {
  std::string job;
  std::string name;  // of who greets
  int from = 0;
  int to = 0;
  std::vector<std::string> addresses;
  std::string segment = {};  // the name of one for this pair; empty: none is offered
};

void write_greeting(const Greeting& greeting, Message& message);
// Throws DataLoss for something else, InvalidArgument, which names the difference, for a rank that was told otherwise
// than this one: `here` is how it would greet itself.
Greeting read_greeting(const Message& message, const Greeting& here);

// The answer: what was read from the segment; 0: it cannot be seen from here.
void write_nonce(std::uint64_t nonce, Message& reply);
std::uint64_t read_nonce(const Message& reply);

}  // namespace cohort::distribute::collective
