#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cohort/distribute/rpc/record_cipher.h"

namespace cohort::distribute::rpc {

// One direction of a connection after the handshake of TLS 1.3: makes its records, or opens them (RFC 8446, section 5),
// with AES-128-GCM. On the wire there is nothing but what TLS itself would send; bytes go straight from where they lie
// to where they belong, though, which spares each side a copy or two. Used by one thread at a time.
class RecordProtection {
 public:
  // What both sides have agreed upon for one direction.
  using Secret = std::array<unsigned char, 32>;
  enum class Content : unsigned char { Alert = 21, Handshake = 22, Data = 23 };
  static constexpr std::size_t kHeaderBytes = 5, kTagBytes = RecordCipher::kTagBytes;
  // What a record holds at most, and what it is longer than that.
  static constexpr std::size_t kLargestContent = std::size_t{16} << 10, kAround = kHeaderBytes + 1 + kTagBytes;

  RecordProtection(CipherUse use, const Secret& secret) : RecordProtection(make_record_cipher(use), secret) {}
  // With a cipher of this choice.
  RecordProtection(std::unique_ptr<RecordCipher> cipher, const Secret& secret);
  ~RecordProtection();
  RecordProtection(const RecordProtection&) = delete;

  // Makes a record, kAround longer than `count`, of so many bytes of these pieces, behind the first `skipped` ones;
  // false: OpenSSL cannot, as it has no memory.
  bool seal(Content kind, std::span<const iovec> pieces, std::size_t skipped, std::size_t count, char* record);
  // How long the content is that follows a header; nothing: it is none of a record that seal() makes.
  static std::optional<std::size_t> content_bytes(const char* header);
  // Puts the content of a record where it belongs, which may be where it lies behind its header, and says what it is.
  // Nothing: it is not what the other side has made, and what stands there now means nothing.
  std::optional<Content> open(const char* record, std::size_t content, char* to);
  // Both directions' ends do so between the same two records.
  void use_next_key();

 private:
  void take_keys();
  bool begin(const char* header);

  Secret secret_;
  RecordCipher::Nonce nonce_mask_{};
  std::uint64_t number_ = 0;  // of the next record under the present key
  const std::unique_ptr<RecordCipher> cipher_;
};

}  // namespace cohort::distribute::rpc
