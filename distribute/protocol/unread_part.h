#pragma once

#include <cstddef>

namespace cohort::distribute {

// The bytes of a message's only part as the network has left them: they are copied, and their sum is checked, when they
// are read. For one thread.
class UnreadPart {
 public:
  virtual ~UnreadPart() = default;
  // Bytes that have not been read.
  virtual std::size_t left() const = 0;
  // Copies the next `count` bytes, at most those that are left. Throws DataLoss with the last of them when what came
  // was damaged.
  virtual void read(std::byte* to, std::size_t count) = 0;
};

}  // namespace cohort::distribute
