#include "cohort/distribute/worker/pipelines.h"

#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

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

bool Pipeline::seek(const Lease& lease) {
  if (!iterator_) restart();
  const bool behind = lease.rewinds < rewinds_ || (lease.rewinds == rewinds_ && lease.first < position_);
  const bool other_pass = lease.rewinds != rewinds_;
  const bool state_helps =
      !lease.state.empty() && lease.state_at <= lease.first && (behind || other_pass || lease.state_at > position_);
  if (state_helps) {
    iterator_->restore(lease.state);
    rewinds_ = lease.rewinds;
    position_ = lease.state_at;
  } else if (behind || other_pass) {
    // How a pass is shuffled may depend on how far the last one went, which differs from worker to worker: all reach
    // it from the same place.
    restart();
  }
  for (; rewinds_ < lease.rewinds; ++rewinds_) {
    iterator_->rewind();
    position_ = 0;
  }
  if (position_ < lease.first) position_ += discard(*iterator_, lease.first - position_, scratch_);
  return position_ == lease.first;
}

bool Pipeline::next(Tensors& element) {
  if (!iterator_->next(element)) return false;
  ++position_;
  return true;
}

std::string Pipeline::save() const { return iterator_ ? iterator_->save() : std::string(); }

void Pipelines::create(const Request<Method::CreatePipeline>& request, Reply<Method::CreatePipeline>&) {
  const proto::CreatePipelineProto& from = request.metadata;
  constants_.take(from.constants(), request.parts);
  auto made = std::make_unique<Pipeline>(parse_dataset(from.chain(), constants_.table()), from.beginning());
  std::lock_guard lock(mutex_);
  // A repeat of the message must not move a pipeline that is in use.
  pipelines_.try_emplace({from.dataset(), from.pipeline()}, std::move(made));
}

Pipeline& Pipelines::find(int dataset, int pipeline) {
  std::lock_guard lock(mutex_);
  const auto found = pipelines_.find({dataset, pipeline});
  if (found == pipelines_.end()) {
    throw not_found("Server", "a pipeline that was made on this task is expected",
                    {{"dataset", dataset}, {"pipeline", pipeline}});
  }
  return *found->second;
}

}  // namespace cohort::distribute
