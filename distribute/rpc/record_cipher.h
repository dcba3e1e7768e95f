#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

namespace cohort::distribute::rpc {

// AES-128-GCM, a message after the other, each in as many pieces as it comes in. For one direction, used by one thread
// at a time.
class RecordCipher {
 public:
  using Key = std::array<unsigned char, 16>;
  using Nonce = std::array<unsigned char, 12>;
  static constexpr std::size_t kTagBytes = 16;

  virtual ~RecordCipher() = default;
  // Of all messages from here on.
  virtual void use_key(const Key& key) = 0;
  // Begins a message; the tag also vouches for the header. The others, too, are false where there is no memory.
  virtual bool begin(const Nonce& nonce, std::span<const unsigned char> header) = 0;
  // The next bytes, which may stay where they are.
  virtual bool go_on(const char* from, std::size_t bytes, char* to) = 0;
  // Ends a message that is made, or one that is opened: whether it is what was made under this key.
  virtual bool give_tag(char* tag) = 0;
  virtual bool expect_tag(const char* tag) = 0;
};

enum class CipherUse { Sealing, Opening };

// The quickest that this machine has.
std::unique_ptr<RecordCipher> make_record_cipher(CipherUse use);
// OpenSSL's, which every machine has.
std::unique_ptr<RecordCipher> make_openssl_cipher(CipherUse use);
// By wide vectors, several blocks at a time; nullptr: the processor has none, or the library is not built in.
std::unique_ptr<RecordCipher> make_wide_cipher(CipherUse use);

}  // namespace cohort::distribute::rpc
