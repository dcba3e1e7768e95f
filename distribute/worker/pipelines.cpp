#include "cohort/distribute/worker/pipelines.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "cohort/data/auto_shard.h"
#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {
namespace {

// More passes than a job makes; to walk through them takes a second.
constexpr std::uint64_t kMostRewinds = std::uint64_t{1} << 24;
// So many elements are skipped before anybody knows what that takes.
constexpr std::uint64_t kFewElements = 64;
// Above this, a state is tried of which nobody knows what it takes.
constexpr double kWorthTrying = 1e-3;

}  // namespace

double Pipeline::seconds_since(Clock::time_point start) const {
  return std::chrono::duration<double>(now_() - start).count();
}

void Pipeline::Cost::add(double measured) {
  constexpr double kWeightOfNewest = 0.25;
  const double cost = std::max(measured, 0.0);
  seconds = seconds ? *seconds + kWeightOfNewest * (cost - *seconds) : cost;
}

bool Pipeline::state_is_nearer(const Lease& lease) const {
  if (lease.state_at <= position_) return false;
  const std::uint64_t spared = lease.state_at - position_;
  if (!skip_.seconds) return spared > kFewElements;
  return *skip_.seconds * static_cast<double>(spared) > restore_.seconds.value_or(kWorthTrying);
}

// A new iterator would shuffle in another order; put back it does not.
void Pipeline::restart() {
  const bool is_new = !iterator_;
  if (is_new) iterator_ = dataset_.make_iterator();
  if (is_new && beginning_.empty()) {
    beginning_ = iterator_->save();
  } else {
    iterator_->restore(beginning_);
  }
  rewinds_ = position_ = 0;
}

bool Pipeline::seek(const Lease& lease, const std::function<void()>& go_on) {
  if (lease.rewinds > kMostRewinds) {
    throw invalid_argument("Server", "a lease has at most 2^24 rewinds", {{"rewinds", lease.rewinds}});
  }
  const std::int64_t cardinality = dataset_.cardinality();
  if (cardinality >= 0 && lease.first > static_cast<std::uint64_t>(cardinality)) return false;
  if (!iterator_ || lost_) restart();
  lost_ = true;  // until it is where the lease wants it
  const bool behind = lease.rewinds < rewinds_ || (lease.rewinds == rewinds_ && lease.first < position_);
  const bool other_pass = lease.rewinds != rewinds_;
  const bool state_helps =
      !lease.state.empty() && lease.state_at <= lease.first && (behind || other_pass || state_is_nearer(lease));
  const Clock::time_point start = now_();
  const std::uint64_t stood_at = position_;
  if (state_helps) {
    iterator_->restore(lease.state);
    rewinds_ = lease.rewinds;
    position_ = lease.state_at;
  } else if (behind || other_pass) {
    // How a pass is shuffled may depend on how far the last one went, which differs from worker to worker: all reach
    // it from the same place.
    restart();
  }
  const bool only_skips = !state_helps && !behind && !other_pass;
  const bool found = walk_to(lease, go_on);
  passed_ = only_skips ? position_ - stood_at : 0;
  // Some iterators do what a restored state asks for when the next element is wanted; a long walk behind a state says
  // nothing about either.
  const bool tells = only_skips ? passed_ > 0 : state_helps && lease.first == lease.state_at;
  sought_in_ = tells ? std::optional(seconds_since(start)) : std::nullopt;
  lost_ = false;
  return found;
}

bool Pipeline::walk_to(const Lease& lease, const std::function<void()>& go_on) {
  constexpr std::uint64_t kBetweenLooks = 256;
  for (; rewinds_ < lease.rewinds; ++rewinds_) {
    if (go_on) go_on();
    iterator_->rewind();
    position_ = 0;
  }
  while (position_ < lease.first) {
    if (go_on) go_on();
    const std::uint64_t asked = std::min(lease.first - position_, kBetweenLooks);
    const std::uint64_t passed = iterator_->skip(asked);
    position_ += passed;
    if (passed < asked) break;
  }
  return position_ == lease.first;
}

bool Pipeline::next(Tensors& element) {
  const Clock::time_point start = now_();
  const std::optional<double> sought_in = std::exchange(sought_in_, std::nullopt);
  lost_ = true;  // behind an element that throws it stands elsewhere
  const bool found = iterator_->next(element);
  lost_ = false;
  if (!found) return false;
  ++position_;
  const double seconds = seconds_since(start);
  if (!sought_in) {
    next_.add(seconds);
  } else if (passed_ > 0) {
    skip_.add((*sought_in + seconds - next_.seconds.value_or(seconds)) / static_cast<double>(passed_));
  } else {
    restore_.add(*sought_in + seconds - next_.seconds.value_or(seconds));
  }
  return true;
}

std::string Pipeline::save() const { return iterator_ ? iterator_->save() : std::string(); }

void Pipelines::create(const Request<Method::CreatePipeline>& request, Reply<Method::CreatePipeline>&) {
  const proto::CreatePipelineProto& from = request.metadata;
  Entry made{.pipeline = nullptr, .constants = constants_.take(from.constants(), request.parts)};
  const DataRootScope readable(data_roots_);
  made.pipeline =
      std::make_shared<Pipeline>(in_order(parse_dataset(from.chain(), made.constants.table)), from.beginning());
  std::lock_guard lock(mutex_);
  // A repeat of the message must not move a pipeline that is in use.
  pipelines_.try_emplace({from.dataset(), from.pipeline()}, std::move(made));
}

std::shared_ptr<Pipeline> Pipelines::find(int dataset, int pipeline) {
  std::lock_guard lock(mutex_);
  const auto found = pipelines_.find({dataset, pipeline});
  if (found == pipelines_.end()) {
    throw not_found("Server", "a pipeline that was made on this task is expected",
                    {{"dataset", dataset}, {"pipeline", pipeline}});
  }
  return found->second.pipeline;
}

void Pipelines::release(const proto::ReleaseProto& releases) {
  std::vector<Entries::node_type> released;  // let go of without the lock
  std::lock_guard lock(mutex_);
  for (const int dataset : releases.datasets()) {
    auto entry = pipelines_.lower_bound({dataset, std::numeric_limits<int>::min()});
    while (entry != pipelines_.end() && entry->first.first == dataset) released.push_back(pipelines_.extract(entry++));
  }
}

void Pipelines::release_all() {
  Entries released;
  std::lock_guard lock(mutex_);
  released.swap(pipelines_);
}

}  // namespace cohort::distribute
