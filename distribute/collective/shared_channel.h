#pragma once

#include <memory>

#include "cohort/distribute/collective/channel.h"
#include "cohort/distribute/collective/shared_segment.h"

namespace cohort::distribute::collective {

// A channel through memory that both sides map: chunks are written where the receiver reads them. As every Channel, for
// one sending and one receiving thread.
class SharedChannel : public Channel {
 public:
  SharedChannel(std::unique_ptr<SharedSegment> segment, std::string peer, const Watch& watch);
  std::span<std::byte> reserve(std::size_t bytes, Deadline deadline) override;
  void send(const CallLabel& label) override;
  Arrived next(Deadline deadline) override;
  void release() override;
  void interrupt() override;
  void may_spin(bool may) override { may_spin_ = may; }
  std::size_t largest_chunk() const override { return kChunkBytes; }
  const std::string& peer() const override { return peer_; }
  const char* transport() const override { return "shared memory"; }

 private:
  template <class Ready>
  void wait(std::atomic<std::uint32_t>& word, std::atomic<std::uint32_t>& sleeps, Deadline deadline,
            const Ready& ready);

  const std::unique_ptr<SharedSegment> segment_;
  const std::string peer_;
  const Watch& watch_;
  const int out_lane_, in_lane_;
  Lane &out_, &in_;
  std::uint32_t sent_ = 0, taken_ = 0;  // our own counts, which nobody else can change
  std::size_t reserved_ = 0;
  bool may_spin_ = false;
};

}  // namespace cohort::distribute::collective
