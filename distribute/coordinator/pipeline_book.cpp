#include "cohort/distribute/coordinator/pipeline_book.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/data/dataset.h"

namespace cohort::distribute {
namespace {

// Beside the one that the oldest lease needs.
constexpr std::size_t kStatesKept = 4;
constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::int64_t& PipelineBook::PipelineRecord::standing(int worker) {
  const auto index = static_cast<std::size_t>(worker);
  if (stands_at.size() <= index) stands_at.resize(index + 1, -1);
  return stands_at[index];
}

std::int64_t PipelineBook::PipelineRecord::standing_of(int worker) const {
  const auto index = static_cast<std::size_t>(worker);
  return index < stands_at.size() ? stands_at[index] : -1;
}

std::uint64_t PipelineBook::PipelineRecord::left() const {
  if (end < 0) return kNoEnd;
  const auto last = static_cast<std::uint64_t>(end);
  return last > next ? last - next : 0;
}

void PipelineBook::PipelineRecord::remember(std::uint64_t at, const std::string& state) {
  if (state.empty()) return;
  const auto place = std::find_if(saved.begin(), saved.end(), [at](const Saved& other) { return other.at >= at; });
  if (place != saved.end() && place->at == at) return;
  saved.insert(place, {at, state});
  // Only the nearest one before the oldest lease that may have to run again is of use; of those after it, the newest.
  std::uint64_t oldest = next;
  for (const Lent& lease : lent) oldest = std::min(oldest, lease.first);
  std::size_t useless = 0;
  while (useless + 1 < saved.size() && saved[useless + 1].at <= oldest) ++useless;
  saved.erase(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(useless));
  if (saved.size() > kStatesKept + 1) saved.erase(saved.begin() + 1);
}

PipelineBook::PipelineBook(int workers, PullsPerStep pulls) : workers_(workers), pulls_(std::move(pulls)) {}

int PipelineBook::add(const std::vector<std::int64_t>& cardinalities) {
  if (cardinalities.empty()) throw invalid_argument("PipelineBook", "a dataset has at least one pipeline");
  DatasetRecord dataset;
  for (const std::int64_t cardinality : cardinalities) {
    PipelineRecord pipeline{.cardinality = cardinality, .end = cardinality};
    pipeline.stands_at.assign(static_cast<std::size_t>(workers_), -1);
    dataset.pipelines.push_back(std::move(pipeline));
  }
  std::lock_guard lock(mutex_);
  datasets_.emplace(next_, std::move(dataset));
  return next_++;
}

void PipelineBook::remove(int dataset) noexcept {
  std::lock_guard lock(mutex_);
  datasets_.erase(dataset);
}

const PipelineBook::DatasetRecord& PipelineBook::record(int number) const {
  const auto found = datasets_.find(number);
  if (found == datasets_.end()) {
    throw not_found("PipelineBook", "the dataset must be one of this coordinator's", {{"dataset", number}});
  }
  return found->second;
}

PipelineBook::DatasetRecord& PipelineBook::record(int number) {
  return const_cast<DatasetRecord&>(std::as_const(*this).record(number));
}

std::vector<std::int64_t> PipelineBook::pulls_of(const Closure& closure) const {
  std::vector<std::int64_t> pulls(closure.datasets.size());
  for (std::size_t i = 0; i < pulls.size(); ++i) pulls[i] = pulls_(closure, i);
  return pulls;
}

void PipelineBook::lease(Closure& closure, int worker) {
  if (closure.datasets.empty()) return;
  const std::vector<std::int64_t> pulls = pulls_of(closure);
  std::lock_guard lock(mutex_);
  if (closure.leases.empty()) grant(closure, worker, pulls);
  for (std::size_t i = 0; i < closure.leases.size(); ++i) {
    Lease& lease = closure.leases[i];
    const auto wanted = static_cast<std::uint64_t>(closure.steps * pulls[i]);
    DatasetRecord& of = record(lease.dataset);
    if (lease.rewinds != of.rewinds) {
      lease.state.clear();
      continue;
    }
    attach_state(lease, worker, wanted);
    PipelineRecord& pipeline = of.pipelines[static_cast<std::size_t>(lease.pipeline)];
    std::erase_if(pipeline.lent, [&](const Lent& other) {
      return other.closure < closure.all_done_below || other.closure == closure.id;
    });
    pipeline.lent.push_back({closure.id, lease.first});
    pipeline.standing(worker) = static_cast<std::int64_t>(lease.first + wanted);
  }
}

Lease PipelineBook::reserve(int dataset, std::int64_t elements) {
  std::lock_guard lock(mutex_);
  DatasetRecord& of = record(dataset);
  if (of.pipelines.size() != 1) {
    throw internal_error("PipelineBook", "elements have one order in a dataset of one pipeline only",
                         {{"pipelines", of.pipelines.size()}});
  }
  PipelineRecord& pipeline = of.pipelines.front();
  Lease lease{.dataset = dataset, .rewinds = of.rewinds, .first = pipeline.next};
  pipeline.next += std::min(static_cast<std::uint64_t>(elements), pipeline.left());
  return lease;
}

void PipelineBook::grant(Closure& closure, int worker, const std::vector<std::int64_t>& pulls) {
  std::vector<Lease> leases;
  auto steps = static_cast<std::uint64_t>(closure.steps);
  // All or none: what is known to end bounds the steps, and so what is taken from the others.
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    const auto per_step = static_cast<std::uint64_t>(pulls[i]);
    const int number = closure.datasets[i];
    const int chosen = choose(number, worker, per_step);
    const PipelineRecord& pipeline = record(number).pipelines[static_cast<std::size_t>(chosen)];
    if (per_step > 0) steps = std::min(steps, pipeline.left() / per_step);
    leases.push_back({.dataset = number, .pipeline = chosen, .rewinds = record(number).rewinds});
  }
  for (std::size_t i = 0; i < pulls.size(); ++i) {
    PipelineRecord& pipeline = record(leases[i].dataset).pipelines[static_cast<std::size_t>(leases[i].pipeline)];
    leases[i].first = pipeline.next;
    pipeline.next += steps * static_cast<std::uint64_t>(pulls[i]);
  }
  closure.leases = std::move(leases);
}

int PipelineBook::choose(int number, int worker, std::uint64_t pulls) const {
  const std::vector<PipelineRecord>& pipelines = record(number).pipelines;
  // Where pipelines are more than workers, each worker has several, which take turns.
  std::size_t own = pipelines.size();
  const auto [rank, workers] = rank_of(worker);
  for (std::size_t i = rank % pipelines.size(); i < pipelines.size(); i += workers) {
    if (pipelines[i].left() < pulls) continue;
    if (own == pipelines.size() || pipelines[i].next < pipelines[own].next) own = i;
  }
  if (own < pipelines.size()) return static_cast<int>(own);
  const auto fullest =
      std::max_element(pipelines.begin(), pipelines.end(),
                       [](const PipelineRecord& a, const PipelineRecord& b) { return a.left() < b.left(); });
  if (fullest->left() >= pulls) return static_cast<int>(fullest - pipelines.begin());
  std::uint64_t given = 0;
  for (const PipelineRecord& pipeline : pipelines) given += pipeline.next;
  throw Error(ErrorCode::OutOfRange, "PerWorkerDataset",
              "its pipelines have no elements left for a step. Fewer steps are expected, or a dataset with repeat()",
              {{"dataset", number}, {"pipelines", pipelines.size()}, {"elements given", given}, {"wanted", pulls}});
}

void PipelineBook::attach_state(Lease& lease, int worker, std::uint64_t wanted) const {
  const PipelineRecord& pipeline = record(lease.dataset).pipelines[static_cast<std::size_t>(lease.pipeline)];
  lease.state.clear();
  if (wanted == 0) return;
  const std::int64_t stands_at = pipeline.standing_of(worker);
  for (auto saved = pipeline.saved.rbegin(); saved != pipeline.saved.rend(); ++saved) {
    if (saved->at > lease.first) continue;
    // Where the worker stands may be as near.
    const auto at = static_cast<std::int64_t>(saved->at);
    if (stands_at > static_cast<std::int64_t>(lease.first) || stands_at < at) {
      lease.state_at = saved->at;
      lease.state = saved->state;
    }
    return;
  }
}

bool PipelineBook::returned(Closure& closure, int worker, const ClosureResult& result) {
  if (closure.leases.empty()) return false;
  const std::vector<std::int64_t> pulls = pulls_of(closure);
  std::lock_guard lock(mutex_);
  const int out = ran_out(closure, result, pulls);
  for (std::size_t i = 0; i < closure.leases.size(); ++i) {
    const Lease& lease = closure.leases[i];
    DatasetRecord& of = record(lease.dataset);
    if (lease.rewinds != of.rewinds) continue;
    PipelineRecord& pipeline = of.pipelines[static_cast<std::size_t>(lease.pipeline)];
    const std::uint64_t after = lease.first + static_cast<std::uint64_t>(result.steps * pulls[i]);
    const std::uint64_t lent_until = lease.first + static_cast<std::uint64_t>(closure.steps * pulls[i]);
    if (result.steps < closure.steps) {
      // What it did not take is there for others, unless some of it has been passed by already.
      if (pipeline.next == lent_until) pipeline.next = after;
      pipeline.standing(worker) = -1;
    }
    if (static_cast<int>(i) == out) {
      const auto end = static_cast<std::int64_t>(after);
      if (pipeline.end < 0 || end < pipeline.end) pipeline.end = end;
    } else if (i < result.states.size()) {
      pipeline.remember(after, result.states[i]);
    }
  }
  const bool elsewhere = result.data_ended && result.steps == 0 && out >= 0 && closure.steps > 0;
  if (elsewhere) closure.leases.clear();
  return elsewhere;
}

int PipelineBook::ran_out(const Closure& closure, const ClosureResult& result,
                          const std::vector<std::int64_t>& pulls) const {
  if (!result.data_ended || result.steps >= closure.steps) return -1;
  int found = -1;
  for (std::size_t i = 0; i < closure.leases.size(); ++i) {
    const Lease& lease = closure.leases[i];
    if (pulls[i] == 0) continue;
    const PipelineRecord& pipeline = record(lease.dataset).pipelines[static_cast<std::size_t>(lease.pipeline)];
    const auto needed = lease.first + static_cast<std::uint64_t>((result.steps + 1) * pulls[i]);
    if (pipeline.end >= 0 && needed > static_cast<std::uint64_t>(pipeline.end)) return static_cast<int>(i);
    if (pipeline.cardinality == kInfiniteCardinality) continue;
    found = found == -1 ? static_cast<int>(i) : -2;
  }
  return found < 0 ? -1 : found;
}

void PipelineBook::forget(int worker) {
  std::lock_guard lock(mutex_);
  for (auto& [number, each] : datasets_) {
    for (PipelineRecord& pipeline : each.pipelines) pipeline.standing(worker) = -1;
  }
}

void PipelineBook::set_present(std::vector<int> workers) {
  std::lock_guard lock(mutex_);
  present_ = std::move(workers);
}

std::pair<std::size_t, std::size_t> PipelineBook::rank_of(int worker) const {
  const auto place = std::lower_bound(present_.begin(), present_.end(), worker);
  if (place == present_.end() || *place != worker) {
    return {static_cast<std::size_t>(worker), std::max(present_.size(), static_cast<std::size_t>(workers_))};
  }
  return {static_cast<std::size_t>(place - present_.begin()), present_.size()};
}

void PipelineBook::rewind(int number) {
  std::lock_guard lock(mutex_);
  DatasetRecord& of = record(number);
  ++of.rewinds;
  for (PipelineRecord& pipeline : of.pipelines) {
    // An end that was met may lie elsewhere in the next pass.
    pipeline.end = pipeline.cardinality;
    pipeline.next = 0;
    pipeline.saved.clear();
    pipeline.lent.clear();
    std::fill(pipeline.stands_at.begin(), pipeline.stands_at.end(), -1);
  }
}

std::vector<Lease> PipelineBook::position(int number) const {
  std::lock_guard lock(mutex_);
  const DatasetRecord& of = record(number);
  std::vector<Lease> leases;
  for (std::size_t i = 0; i < of.pipelines.size(); ++i) {
    const PipelineRecord& pipeline = of.pipelines[i];
    Lease lease{.dataset = number, .pipeline = static_cast<int>(i), .rewinds = of.rewinds, .first = pipeline.next};
    for (const Saved& saved : pipeline.saved) {
      if (saved.at > lease.first) break;
      lease.state_at = saved.at;
      lease.state = saved.state;
    }
    leases.push_back(std::move(lease));
  }
  return leases;
}

void PipelineBook::resume(int number, const std::vector<Lease>& position) {
  std::lock_guard lock(mutex_);
  DatasetRecord& of = record(number);
  if (position.size() != of.pipelines.size()) {
    throw invalid_argument("PipelineBook", "a position has one entry for each of the dataset's pipelines",
                           {{"entries", position.size()}, {"pipelines", of.pipelines.size()}},
                           "Resume with as many workers as the position was saved with.");
  }
  for (std::size_t i = 0; i < position.size(); ++i) {
    PipelineRecord& pipeline = of.pipelines[i];
    of.rewinds = position[i].rewinds;
    pipeline.end = pipeline.cardinality;
    pipeline.next = position[i].first;
    pipeline.saved.clear();
    pipeline.lent.clear();
    std::fill(pipeline.stands_at.begin(), pipeline.stands_at.end(), -1);
    pipeline.remember(position[i].state_at, position[i].state);
  }
}

}  // namespace cohort::distribute
