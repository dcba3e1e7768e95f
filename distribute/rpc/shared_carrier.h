#pragma once

#include <memory>

#include "cohort/distribute/rpc/carrier.h"
#include "cohort/distribute/rpc/ring_messages.h"

namespace cohort::distribute::rpc {

// Memory that both processes map.
class SharedCarrier : public Carrier {
 public:
  explicit SharedCarrier(std::unique_ptr<SharedRings> rings) : rings_(std::move(rings)) {}
  Came take(MessageReader& reader) override { return messages_.take(reader); }
  bool put(MessageWriter& writer) override { return messages_.put(writer); }
  bool sums() const override { return false; }
  void sleep(std::uint32_t reasons, std::chrono::nanoseconds longest, const std::function<bool()>& is_over) override {
    const bool awaits_bytes = (reasons & kForBytes) != 0, awaits_room = (reasons & kForRoom) != 0;
    rings_->sleep(reasons, longest, [&] {
      return is_over() || (awaits_bytes && messages_.has_come()) || (awaits_room && messages_.has_room());
    });
  }
  void interrupt() override { rings_->interrupt(); }
  void close() override { rings_->close(); }
  bool is_closed() const override { return rings_->is_closed(); }

 private:
  const std::unique_ptr<SharedRings> rings_;
  RingMessages messages_{*rings_};
};

}  // namespace cohort::distribute::rpc
