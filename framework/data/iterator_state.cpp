#include "cohort/data/iterator_state.h"

#include "cohort/core/error.h"

namespace cohort {
namespace {

[[noreturn]] void refuse_state(std::string_view what) {
  throw invalid_argument("Iterator.restore", "a state saved by an iterator of the same dataset is expected",
                         {{"problem", what}});
}

}  // namespace

void StateWriter::number(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out_->push_back(static_cast<char>(value | 0x80));
  out_->push_back(static_cast<char>(value));
}

void StateWriter::bytes(std::string_view value) {
  number(value.size());
  out_->append(value);
}

void StateReader::stage(char letter) {
  if (in_.empty()) refuse_state("it ends too early");
  if (in_.front() != letter) refuse_state("it is of another kind of dataset");
  in_.remove_prefix(1);
}

std::uint64_t StateReader::number() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in_.empty()) refuse_state("it ends too early");
    const auto byte = static_cast<unsigned char>(in_.front());
    in_.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  refuse_state("a number is too long");
}

std::string_view StateReader::bytes() {
  const std::uint64_t size = number();
  if (size > in_.size()) refuse_state("it ends too early");
  const std::string_view value = in_.substr(0, size);
  in_.remove_prefix(size);
  return value;
}

void StateReader::finish() const {
  if (!in_.empty()) refuse_state("something is left at its end");
}

}  // namespace cohort
