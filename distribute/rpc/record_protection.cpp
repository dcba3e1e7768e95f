#include "cohort/distribute/rpc/record_protection.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "cohort/distribute/cluster/openssl_objects.h"

namespace cohort::distribute::rpc {
namespace {

using Secret = RecordProtection::Secret;

// Of every record after the handshake, whatever it holds: version 1.2's data.
constexpr unsigned char kRecordMark[] = {23, 3, 3};
constexpr const char* kWho = "SocketEncryption";

// HKDF-Expand-Label of RFC 8446, section 7.1, without context, for no more than one hash gives.
template <std::size_t Bytes>
std::array<unsigned char, Bytes> expand(const Secret& secret, std::string_view label) {
  static_assert(Bytes <= std::tuple_size_v<Secret>);
  constexpr std::string_view kPrefix = "tls13 ";
  std::string text{'\0', static_cast<char>(Bytes), static_cast<char>(kPrefix.size() + label.size())};
  text.append(kPrefix).append(label).append({'\0', '\1'});
  Secret whole;
  unsigned int count = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), whole.data(), &count) == nullptr) {
    throw openssl_error(kWho, "OpenSSL must know HMAC with SHA-256");
  }
  std::array<unsigned char, Bytes> first;
  std::copy_n(whole.begin(), Bytes, first.begin());
  OPENSSL_cleanse(whole.data(), whole.size());
  return first;
}

}  // namespace

RecordProtection::RecordProtection(std::unique_ptr<RecordCipher> cipher, const Secret& secret)
    : secret_(secret), cipher_(std::move(cipher)) {
  take_keys();
}

RecordProtection::~RecordProtection() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

void RecordProtection::take_keys() {
  RecordCipher::Key key = expand<std::tuple_size_v<RecordCipher::Key>>(secret_, "key");
  nonce_mask_ = expand<std::tuple_size_v<RecordCipher::Nonce>>(secret_, "iv");
  cipher_->use_key(key);
  OPENSSL_cleanse(key.data(), key.size());
  number_ = 0;
}

void RecordProtection::use_next_key() {
  secret_ = expand<std::tuple_size_v<Secret>>(secret_, "traffic upd");
  take_keys();
}

// No two records under one key have the same nonce.
bool RecordProtection::begin(const char* header) {
  RecordCipher::Nonce nonce = nonce_mask_;
  for (std::size_t i = 0; i < sizeof number_; ++i) {
    nonce[nonce.size() - 1 - i] ^= static_cast<unsigned char>(number_ >> (8 * i));
  }
  ++number_;
  return cipher_->begin(nonce, {reinterpret_cast<const unsigned char*>(header), kHeaderBytes});
}

bool RecordProtection::seal(Content kind, std::span<const iovec> pieces, std::size_t skipped, std::size_t count,
                            char* record) {
  const std::size_t body = count + 1 + kTagBytes;
  std::copy(std::begin(kRecordMark), std::end(kRecordMark), record);
  record[3] = static_cast<char>(body >> 8);
  record[4] = static_cast<char>(body);
  char* to = record + kHeaderBytes;
  bool well = begin(record);
  for (const iovec& piece : pieces) {
    const std::size_t before = std::min(skipped, piece.iov_len), part = std::min(count, piece.iov_len - before);
    skipped -= before;
    if (part == 0) continue;
    well = well && cipher_->go_on(static_cast<const char*>(piece.iov_base) + before, part, to);
    to += part;
    count -= part;
  }
  const char last = static_cast<char>(kind);
  return well && cipher_->go_on(&last, 1, to) && cipher_->give_tag(to + 1);
}

std::optional<std::size_t> RecordProtection::content_bytes(const char* header) {
  if (!std::equal(std::begin(kRecordMark), std::end(kRecordMark), reinterpret_cast<const unsigned char*>(header))) {
    return std::nullopt;
  }
  const std::size_t body =
      (std::size_t{static_cast<unsigned char>(header[3])} << 8) + static_cast<unsigned char>(header[4]);
  const std::size_t around = 1 + kTagBytes;
  return body > around && body <= kLargestContent + around ? std::optional(body - around) : std::nullopt;
}

std::optional<RecordProtection::Content> RecordProtection::open(const char* record, std::size_t content, char* to) {
  const char* const body = record + kHeaderBytes;
  char last = 0;
  if (!begin(record) || !cipher_->go_on(body, content, to) || !cipher_->go_on(body + content, 1, &last) ||
      !cipher_->expect_tag(body + content + 1)) {
    return std::nullopt;
  }
  return static_cast<Content>(last);
}

}  // namespace cohort::distribute::rpc
