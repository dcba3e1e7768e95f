#pragma once

#include <memory>
#include <vector>

#include "cohort/distribute/rpc/carrier.h"
#include "cohort/distribute/rpc/data_socket.h"

namespace cohort::distribute::rpc {

// A socket of the stream's own: chunks, each behind its length. Parts go from where they lie to where they belong.
class SocketCarrier : public Carrier {
 public:
  explicit SocketCarrier(std::unique_ptr<DataSocket> socket);
  Came take(MessageReader& reader) override;
  bool put(MessageWriter& writer) override;
  bool sums() const override { return !socket_->is_sound(); }
  void sleep(std::uint32_t reasons, std::chrono::nanoseconds longest, const std::function<bool()>& is_over) override;
  void interrupt() override { socket_->interrupt(); }
  bool is_silent(std::chrono::milliseconds longest) const override { return socket_->is_silent(longest); }
  void close() override { socket_->close(); }
  bool is_closed() const override { return socket_->is_closed(); }

 private:
  // Bytes that have come and were not handed over.
  std::size_t unread() const { return filled_ - used_; }
  // Reads more of them, what belongs to a part right there; false: there are none for now.
  bool read_more(MessageReader& reader);
  bool begin_incoming(MessageReader& reader);

  const std::unique_ptr<DataSocket> socket_;
  std::vector<char> buffer_;
  std::size_t used_ = 0, filled_ = 0;  // of the buffer
  std::size_t incoming_ = 0;           // bytes of the chunk that is coming which are not handed over
  std::size_t outgoing_ = 0;           // bytes of the present chunk that are to be written
  std::uint32_t length_ = 0;
  std::size_t length_left_ = 0;
};

}  // namespace cohort::distribute::rpc
