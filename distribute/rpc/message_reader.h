#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/protocol/message.h"
#include "cohort/distribute/rpc/wire.h"

namespace cohort::distribute::rpc {

// What is said of bytes that came and are not what they must be.
Error data_loss(std::string_view expected, std::initializer_list<Received> received = {});

// Puts messages together again from the bytes of their chunks. Whatever arrives, nothing is believed before it is
// checked: what does not fit is DataLoss, and the stream it came from is of no further use. Used by one thread at a
// time; keeps its memory between messages.
class MessageReader {
 public:
  // A message of several chunks gets its memory when the sum of its first chunk has proved right; with `asks` not
  // before somebody has admitted it.
  explicit MessageReader(bool asks = false) : asks_(asks) {}
  // Before the first chunk: whether sums are there and looked at.
  void expect_sums(bool sums) { sums_ = sums; }

  // A chunk is handed over piece by piece between begin_chunk and end_chunk; the latter says whether the message is
  // complete.
  void begin_chunk(std::size_t bytes);
  void take(const char* bytes, std::size_t count);
  bool end_chunk();
  // Within a chunk: where its next bytes belong, as far as they are a part's that has its memory; took() instead of
  // take() tells that so many have been put there.
  std::span<char> room() const;
  void took(std::size_t count);

  // Before the first chunk of a message: its parts lie there already, and chunks hold only what comes before them.
  void lend(Owned<Buffer> data);
  // After such a message was admitted, or refused: whether that was its end.
  bool ends_with_loan();

  // After a chunk: the bytes that the message wants to be admitted with before the next one, or 0.
  std::uint64_t wanted() const { return wanted_; }
  void admit();
  // After a chunk that has been believed: it holds bytes of parts that had no memory before. It is to be handed over a
  // second time, piece by piece.
  bool wants_again() const { return wants_again_; }
  void take_again(const char* bytes, std::size_t count);
  // The message is read to its end, but what is left of it is its head and an error's status and text.
  void refuse(const std::string& why);

  // Whether the next chunk is the first of a message.
  bool begins() const { return next_number_ == 0; }
  // Swaps the complete message with `message`, whose memory is used for the next one.
  void give(Message& message);
  // That of the complete message; see wire::Prologue.
  std::uint32_t status() const { return status_; }
  // Of the complete message, which was not taken in.
  bool refused() const { return refused_; }

 private:
  void check_header();
  void check_prologue();
  void lay_out_parts();
  void take_payload(const char* bytes, std::size_t count);
  void believe();
  void finish();
  void sum(const char* bytes, std::size_t count);

  const bool asks_;
  bool sums_ = true;
  wire::ChunkHeader header_;
  std::size_t chunk_bytes_ = 0;  // of the present chunk, header included
  std::size_t chunk_taken_ = 0;
  std::uint32_t crc_ = 0;

  std::uint32_t next_number_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;   // in the payload
  std::uint64_t chunk_end_ = 0;  // likewise, of the present chunk
  std::uint64_t wanted_ = 0;
  bool admitted_ = false, laid_out_ = false, refused_ = false;
  wire::Prologue prologue_;
  std::uint64_t specs_end_ = 0, meta_end_ = 0;
  std::string specs_;
  std::size_t unstored_ = 0;  // bytes at the end of the present chunk that belong to parts without memory
  bool wants_again_ = false;
  Owned<Buffer> data_, lent_;
  std::vector<std::pair<std::size_t, std::uint64_t>> strings_;  // parts that are made when all bytes are there
  Message message_;
  std::uint32_t status_ = 0;
};

}  // namespace cohort::distribute::rpc
