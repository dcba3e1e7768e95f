#include "cohort/data/indexed_iterator.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

bool IndexedIterator::next(Tensors& element) {
  if (left() == 0) return false;
  ElementPlace place = at_;
  // Before it is read: one that throws is behind it, too.
  ++at_.position;
  elements_->resolve({&place, 1}).read(place, element);
  return true;
}

void IndexedIterator::rewind() {
  ++at_.pass;
  at_.position = 0;
}

std::uint64_t IndexedIterator::skip(std::uint64_t count) {
  const std::uint64_t passed = std::min(count, left());
  at_.position += passed;
  return passed;
}

std::optional<ElementKey> IndexedIterator::key() const {
  if (at_.position == 0) return std::nullopt;
  ElementPlace last{at_.pass, at_.position - 1};
  return elements_->resolve({&last, 1}).key(last);
}

void IndexedIterator::save_to(StateWriter& state) const {
  state.stage('I');
  state.number(at_.pass);
  state.number(at_.position);
  elements_->save_to(state);
}

void IndexedIterator::restore_from(StateReader& state) {
  state.stage('I');
  const ElementPlace place{state.number(), state.number()};
  elements_->restore_from(state);
  if (place.position > elements_->count()) {
    throw invalid_argument("Iterator.restore", "a position inside the dataset is expected",
                           {{"position", place.position}, {"elements", elements_->count()}});
  }
  at_ = place;
}

std::size_t IndexedIterator::next_places(std::span<ElementPlace> places) {
  const auto got = static_cast<std::size_t>(std::min<std::uint64_t>(places.size(), left()));
  for (std::size_t i = 0; i < got; ++i) places[i] = {at_.pass, at_.position++};
  return got;
}

}  // namespace cohort
