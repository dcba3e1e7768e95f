#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cohort {

// Appends an iterator's position to a string; each stage writes its own fields, then its input's.
class StateWriter {
 public:
  explicit StateWriter(std::string& out) : out_(&out) {}
  // Names the stage whose fields follow, so that the state of another dataset is noticed.
  void stage(char letter) { out_->push_back(letter); }
  // A number.
  void number(std::uint64_t value);
  // Bytes with their length.
  void bytes(std::string_view value);
  // Bytes that another writer has put together.
  void raw(std::string_view value) { out_->append(value); }

 private:
  std::string* out_;
};

// Reads what StateWriter wrote; throws when it is something else.
class StateReader {
 public:
  explicit StateReader(std::string_view in) : in_(in) {}
  // Expects this stage.
  void stage(char letter);
  // The next number.
  std::uint64_t number();
  // The next bytes with their length.
  std::string_view bytes();
  // Throws when something is left.
  void finish() const;

 private:
  std::string_view in_;
};

}  // namespace cohort
