#include "cohort/datasets/transforms/grouping.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "cohort/data/broken_source.h"
#include "cohort/data/indexed_iterator.h"
#include "cohort/datasets/sources/rows.h"
#include "cohort/datasets/transforms/parallel_reads.h"
#include "cohort/datasets/transforms/workspaces.h"

namespace cohort::datasets {
namespace {

// What a thread needs to put a group together; used again and again.
struct GroupWorkspace {
  std::vector<ElementPlace> places;
  std::vector<Tensors> elements;
  std::vector<const Tensors*> rows;

  void make_room_like(const GroupWorkspace& other) {
    places.reserve(other.places.capacity());
    rows.reserve(other.rows.capacity());
    elements.reserve(other.elements.capacity());
    for (const Tensors& element : other.elements) elements.push_back(room_for(element));
  }
  void reserve(std::size_t) {}
};

bool are_consecutive(std::span<const ElementPlace> places) {
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].position != places[0].position + i) return false;
  }
  return true;
}

// Stacks the elements at the places that the workspace holds, which resolve() gave together with `from`.
void read_group(const Stacking& stacking, const IndexedElements& from, GroupWorkspace& work, Tensors& group) {
  const Tensors* columns = from.columns();
  if (columns && are_consecutive(work.places) && stacking.keeps_rows_of(*columns)) {
    rows_of(*columns, static_cast<std::int64_t>(work.places[0].position), static_cast<std::int64_t>(work.places.size()),
            group);
    return;
  }
  const std::size_t count = work.places.size();
  if (work.elements.size() < count) work.elements.resize(count);
  read_in_blocks(from, static_cast<std::int64_t>(count), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      from.read(work.places[i], work.elements[i]);
    }
  });
  work.rows.clear();
  for (std::size_t i = 0; i < count; ++i) work.rows.push_back(&work.elements[i]);
  stacking.stack(work.rows, group);
}

class GroupedElements : public IndexedElements {
 public:
  GroupedElements(std::unique_ptr<IndexedElements> input, const Grouping& grouping,
                  std::shared_ptr<const Stacking> stacking)
      : input_(std::move(input)), grouping_(grouping), stacking_(std::move(stacking)) {}

  std::uint64_t count() const override {
    return input_->count() == kEndless ? kEndless : grouping_.groups_of(input_->count());
  }
  // That of its first row.
  ElementKey key(ElementPlace place) const override {
    place.position *= grouping_.shift;
    return input_->resolve({&place, 1}).key(place);
  }
  void read(ElementPlace place, Tensors& group) const override {
    const Workspaces<GroupWorkspace>::Lease work(workspaces_);
    const std::uint64_t first = place.position * grouping_.shift;
    const std::uint64_t there = (input_->count() - first - 1) / grouping_.stride + 1;
    work->places.resize(static_cast<std::size_t>(std::min(grouping_.size, there)));
    for (std::size_t i = 0; i < work->places.size(); ++i) {
      work->places[i] = {place.pass, first + i * grouping_.stride};
    }
    const IndexedElements& from = input_->resolve(work->places);
    read_group(*stacking_, from, *work.operator->(), group);
  }
  bool blocks() const override { return input_->blocks(); }
  void save_to(StateWriter& state) const override { input_->save_to(state); }
  void restore_from(StateReader& state) override { input_->restore_from(state); }

 private:
  std::unique_ptr<IndexedElements> input_;
  Grouping grouping_;
  std::shared_ptr<const Stacking> stacking_;
  mutable Workspaces<GroupWorkspace> workspaces_{[] { return std::make_unique<GroupWorkspace>(); }, input_->blocks()};
};

// Holds elements from the first of the next group on: those that several groups share are computed once.
class GroupIterator : public TransformIterator {
 public:
  GroupIterator(std::unique_ptr<DatasetIterator> input, const Grouping& grouping,
                std::shared_ptr<const Stacking> stacking)
      : TransformIterator(std::move(input)), grouping_(grouping), stacking_(std::move(stacking)) {}

  bool next(Tensors& group) override {
    if (!fill()) return clear(), false;
    list_rows();
    key_ = reads_places() ? key_of(work_.places[0]) : held_[0].key;
    // Behind the group, whether it can be put together or not.
    const Advance behind{*this};
    if (const std::exception_ptr error = first_error()) std::rethrow_exception(error);
    if (reads_places()) {
      const IndexedElements& from = input_->indexed()->resolve(work_.places);
      read_group(*stacking_, from, work_, group);
    } else {
      stacking_->stack(work_.rows, group);
    }
    return true;
  }
  std::uint64_t skip(std::uint64_t count) override {
    if (count == 0 || !reach_group()) return 0;
    count = std::min(count, std::max<std::uint64_t>(1, (UINT64_MAX / 4 - grouping_.span()) / grouping_.shift));
    const std::uint64_t before_last = (count - 1) * grouping_.shift;
    // Whether the last group is whole only its elements tell, and the next one needs them, too.
    if (grouping_.drop_remainder && grouping_.overlaps()) {
      std::uint64_t there = pass_by(before_last);
      if (there == before_last) {
        if (fill()) return advance(), count;
        there += size_;
      }
      return clear(), grouping_.groups_of(there);
    }
    const std::uint64_t needed = grouping_.drop_remainder ? grouping_.span() : 1;
    const std::uint64_t there = pass_by(before_last + needed);
    if (there < before_last + needed) return clear(), grouping_.groups_of(there);
    leave_out(grouping_.shift - needed);
    return count;
  }
  std::optional<ElementKey> key() const override { return key_; }
  void rewind() override {
    clear();
    input_->rewind();
  }
  // What is held is not written: it is read again from where the first of it stood.
  void save_to(StateWriter& state) const override {
    state.stage('W');
    state.number(to_pass_);
    if (size_ > 0) {
      state.raw(held_[0].state);
    } else {
      input_->save_to(state);
    }
  }
  void restore_from(StateReader& state) override {
    state.stage('W');
    clear();
    to_pass_ = state.number();
    input_->restore_from(state);
  }

 private:
  struct Held {
    ElementPlace place;  // instead of leaves, where the input gives places
    Tensors leaves;
    std::optional<ElementKey> key;
    std::exception_ptr error;  // in its place, where it could not be computed
    std::string state;         // the input's before it, where groups overlap
  };
  struct Advance {
    GroupIterator& iterator;
    ~Advance() { iterator.advance(); }
  };

  // Places cost nothing, but what several groups share is not to be computed for each of them.
  bool reads_places() const { return !grouping_.overlaps() && input_->indexed(); }
  // Where groups overlap, what lies between the elements of one may belong to another.
  std::size_t step() const { return grouping_.overlaps() ? static_cast<std::size_t>(grouping_.stride) : 1; }
  std::uint64_t most_held() const { return grouping_.overlaps() ? grouping_.span() : grouping_.size; }

  // Goes to the first element of the next group; whether the input goes that far.
  bool reach_group() {
    if (to_pass_ > 0) to_pass_ -= input_->skip(to_pass_);
    return to_pass_ == 0;
  }
  // Holds the elements of the next group; whether there is one.
  bool fill() {
    if (!reach_group()) return false;
    const std::uint64_t between = grouping_.overlaps() ? 0 : grouping_.stride - 1;
    while (size_ < most_held()) {
      if (between > 0 && size_ > 0 && input_->skip(between) < between) break;
      if (held_.size() == size_) held_.emplace_back();
      if (!take_in(held_[size_])) break;
      ++size_;
    }
    return size_ > 0 && (!grouping_.drop_remainder || size_ == most_held());
  }
  bool take_in(Held& held) {
    if (grouping_.overlaps()) write_input_state(held.state);
    held.error = nullptr;
    if (reads_places()) return input_->next_places({&held.place, 1}) == 1;
    try {
      if (!input_->next(held.leaves)) return false;
    } catch (const BrokenSource&) {
      throw;
    } catch (...) {
      held.error = std::current_exception();
    }
    held.key = input_->key();
    return true;
  }

  void list_rows() {
    work_.rows.clear();
    work_.places.clear();
    for (std::size_t i = 0; i < size_; i += step()) {
      work_.places.push_back(held_[i].place);
      work_.rows.push_back(&held_[i].leaves);
    }
  }
  std::exception_ptr first_error() const {
    for (std::size_t i = 0; i < size_; i += step()) {
      if (held_[i].error) return held_[i].error;
    }
    return nullptr;
  }
  ElementKey key_of(ElementPlace place) const {
    const IndexedElements& from = input_->indexed()->resolve({&place, 1});
    return from.key(place);
  }

  // From the group that is held to the next one.
  void advance() {
    if (grouping_.overlaps()) return leave_out(grouping_.shift);
    const std::uint64_t read = (size_ - 1) * grouping_.stride + 1;
    size_ = 0;
    to_pass_ = grouping_.shift - read;
  }
  // Takes the next `count` elements away, those of the input when they are asked for.
  void leave_out(std::uint64_t count) { to_pass_ += count - drop(count); }
  // The same at once; how many there were.
  std::uint64_t pass_by(std::uint64_t count) {
    const std::uint64_t dropped = drop(count);
    return dropped == count ? count : dropped + input_->skip(count - dropped);
  }
  // Lets go of up to `count` elements that are held; of how many.
  std::uint64_t drop(std::uint64_t count) {
    const auto dropped = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_));
    const auto begin = held_.begin();
    std::rotate(begin, begin + static_cast<std::ptrdiff_t>(dropped), begin + static_cast<std::ptrdiff_t>(size_));
    size_ -= dropped;
    return dropped;
  }
  void clear() {
    size_ = 0;
    to_pass_ = 0;
  }

  Grouping grouping_;
  std::shared_ptr<const Stacking> stacking_;
  std::vector<Held> held_;  // of which the first size_ count; the others keep their memory
  std::size_t size_ = 0;
  std::uint64_t to_pass_ = 0;  // elements of the input before the next group, when nothing is held
  GroupWorkspace work_;
  std::optional<ElementKey> key_;
};

// Whether its elements are there without being computed, in whatever order.
bool needs_no_computing(const Dataset& dataset) {
  constexpr std::array<std::string_view, 2> kSources{"tensor_slices", "range"};
  constexpr std::array<std::string_view, 5> kSelections{"take", "skip", "shard", "repeat", "shuffle"};
  if (std::find(kSources.begin(), kSources.end(), dataset.kind()) != kSources.end()) return true;
  return std::find(kSelections.begin(), kSelections.end(), dataset.kind()) != kSelections.end() &&
         needs_no_computing(dataset.inputs()[0]);
}

}  // namespace

std::uint64_t Grouping::groups_of(std::uint64_t elements) const {
  if (!drop_remainder) return elements / shift + (elements % shift == 0 ? 0 : 1);
  return elements < span() ? 0 : (elements - span()) / shift + 1;
}

GroupStage::GroupStage(const Dataset& input, const Grouping& grouping, Stacking stacking)
    : input_(input),
      grouping_(grouping),
      stacking_(std::make_shared<const Stacking>(std::move(stacking))),
      spec_(stacking_->spec(grouping.drop_remainder ? static_cast<std::int64_t>(grouping.size) : kUnknown)),
      is_indexed_(input.stage().is_indexed() && (!grouping.overlaps() || needs_no_computing(input))) {}

std::int64_t GroupStage::cardinality() const {
  const std::int64_t available = input_.cardinality();
  if (available < 0) return available;
  return static_cast<std::int64_t>(grouping_.groups_of(static_cast<std::uint64_t>(available)));
}

std::unique_ptr<DatasetIterator> GroupStage::iterator() const {
  if (is_indexed()) return std::make_unique<IndexedIterator>(indexed());
  return std::make_unique<GroupIterator>(input_.make_iterator(), grouping_, stacking_);
}

std::unique_ptr<IndexedElements> GroupStage::indexed() const {
  return std::make_unique<GroupedElements>(input_.stage().indexed(), grouping_, stacking_);
}

}  // namespace cohort::datasets
