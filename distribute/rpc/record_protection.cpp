#include "cohort/distribute/rpc/record_protection.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cohort/distribute/cluster/openssl_objects.h"

namespace cohort::distribute::rpc {
namespace {

using Secret = RecordProtection::Secret;
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;

// Of every record after the handshake, whatever it holds: version 1.2's data.
constexpr unsigned char kRecordMark[] = {23, 3, 3};
constexpr std::size_t kKeyBytes = 16;
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

class RecordProtection::Cipher {
 public:
  explicit Cipher(Direction direction)
      : seals_(direction == Direction::Sealing ? 1 : 0), context_(EVP_CIPHER_CTX_new()) {
    if (!context_) throw openssl_error(kWho, "OpenSSL must have memory for a connection");
  }
  void use_key(const unsigned char* key) {
    if (EVP_CipherInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key, nullptr, seals_) != 1) {
      throw openssl_error(kWho, "OpenSSL must know AES-128-GCM");
    }
  }
  bool begin(const unsigned char* nonce, const unsigned char* header) {
    int count = 0;
    return EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce, seals_) == 1 &&
           EVP_CipherUpdate(context_.get(), nullptr, &count, header, kHeaderBytes) == 1;
  }
  bool go_on(const char* from, std::size_t bytes, char* to) {
    int count = 0;
    return EVP_CipherUpdate(context_.get(), reinterpret_cast<unsigned char*>(to), &count,
                            reinterpret_cast<const unsigned char*>(from), static_cast<int>(bytes)) == 1;
  }
  bool end() {
    int count = 0;
    unsigned char none[EVP_MAX_BLOCK_LENGTH];
    return EVP_CipherFinal_ex(context_.get(), none, &count) == 1;
  }
  bool give_tag(char* tag) { return EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1; }
  bool expect_tag(const char* tag) {
    return EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, const_cast<char*>(tag)) == 1;
  }

 private:
  const int seals_;
  const CipherContext context_;
};

RecordProtection::RecordProtection(Direction direction, const Secret& secret)
    : secret_(secret), cipher_(std::make_unique<Cipher>(direction)) {
  take_keys();
}

RecordProtection::~RecordProtection() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

void RecordProtection::take_keys() {
  std::array<unsigned char, kKeyBytes> key = expand<kKeyBytes>(secret_, "key");
  nonce_mask_ = expand<std::tuple_size_v<decltype(nonce_mask_)>>(secret_, "iv");
  cipher_->use_key(key.data());
  OPENSSL_cleanse(key.data(), key.size());
  number_ = 0;
}

void RecordProtection::use_next_key() {
  secret_ = expand<std::tuple_size_v<Secret>>(secret_, "traffic upd");
  take_keys();
}

// No two records under one key have the same nonce.
bool RecordProtection::begin(const char* header) {
  auto nonce = nonce_mask_;
  for (std::size_t i = 0; i < sizeof number_; ++i) {
    nonce[nonce.size() - 1 - i] ^= static_cast<unsigned char>(number_ >> (8 * i));
  }
  ++number_;
  return cipher_->begin(nonce.data(), reinterpret_cast<const unsigned char*>(header));
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
  return well && cipher_->go_on(&last, 1, to) && cipher_->end() && cipher_->give_tag(to + 1);
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
      !cipher_->expect_tag(body + content + 1) || !cipher_->end()) {
    return std::nullopt;
  }
  return static_cast<Content>(last);
}

}  // namespace cohort::distribute::rpc
