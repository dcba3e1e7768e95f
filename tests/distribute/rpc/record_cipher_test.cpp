// AES-128-GCM by OpenSSL and by whatever is quickest here: the same bytes, however they come in.
#include "cohort/distribute/rpc/record_cipher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cohort::distribute::rpc::test {
namespace {

using Maker = std::unique_ptr<RecordCipher> (*)(CipherUse);
constexpr Maker kMakers[] = {make_openssl_cipher, make_record_cipher};

struct Message {
  RecordCipher::Key key{};
  RecordCipher::Nonce nonce{};
  std::string header;
  std::string text;
};

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}
template <std::size_t Count>
std::array<unsigned char, Count> array_of(std::string_view hex) {
  const std::string bytes = from_hex(hex);
  std::array<unsigned char, Count> array{};
  std::copy_n(bytes.begin(), std::min(Count, bytes.size()), array.begin());
  return array;
}

Message some_message(std::mt19937& random, std::size_t count) {
  const auto fill = [&](auto& bytes) {
    for (auto& byte : bytes) byte = static_cast<std::remove_reference_t<decltype(byte)>>(random());
  };
  Message message{.header = std::string(5, ' '), .text = std::string(count, ' ')};
  fill(message.key);
  fill(message.nonce);
  fill(message.header);
  fill(message.text);
  return message;
}

bool begin(RecordCipher& cipher, const Message& message) {
  cipher.use_key(message.key);
  return cipher.begin(message.nonce,
                      {reinterpret_cast<const unsigned char*>(message.header.data()), message.header.size()});
}

// The text in pieces of at most `piece` bytes.
bool go_through(RecordCipher& cipher, std::string& text, std::size_t piece) {
  for (std::size_t at = 0; at < text.size(); at += piece) {
    if (!cipher.go_on(text.data() + at, std::min(piece, text.size() - at), text.data() + at)) return false;
  }
  return true;
}

// What is sent, and the tag behind it.
std::string sealed(Maker make, const Message& message, std::size_t piece) {
  const std::unique_ptr<RecordCipher> cipher = make(CipherUse::Sealing);
  std::string text = message.text;
  EXPECT_TRUE(begin(*cipher, message));
  EXPECT_TRUE(go_through(*cipher, text, piece));
  char tag[RecordCipher::kTagBytes];
  EXPECT_TRUE(cipher->give_tag(tag));
  return text.append(tag, sizeof tag);
}

// Nothing: it is not what was made.
std::optional<std::string> opened(Maker make, const Message& message, const std::string& came, std::size_t piece) {
  const std::unique_ptr<RecordCipher> cipher = make(CipherUse::Opening);
  std::string text = came.substr(0, came.size() - RecordCipher::kTagBytes);
  EXPECT_TRUE(begin(*cipher, message));
  EXPECT_TRUE(go_through(*cipher, text, piece));
  return cipher->expect_tag(came.data() + text.size()) ? std::optional(text) : std::nullopt;
}

// The fourth case of the proposal of GCM to NIST.
TEST(RecordCipher, KnowsThePublishedExample) {
  const Message message{.key = array_of<16>("feffe9928665731c6d6a8f9467308308"),
                        .nonce = array_of<12>("cafebabefacedbaddecaf888"),
                        .header = from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
                        .text = from_hex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                                         "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")};
  const std::string wanted = from_hex(
      "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
      "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e0915bc94fbc3221a5db94fae95ae7121a47");
  for (const Maker make : kMakers) {
    for (const std::size_t piece : {1, 16, 60}) {
      EXPECT_EQ(sealed(make, message, piece), wanted);
      EXPECT_EQ(opened(make, message, wanted, piece), message.text);
    }
  }
}

TEST(RecordCipher, MakesTheSameBytesHoweverTheyComeIn) {
  std::mt19937 random(1);
  for (const std::size_t count : {1, 15, 16, 17, 255, 256, 257, 1000, 4096, 16384, 16385}) {
    const Message message = some_message(random, count);
    const std::string wanted = sealed(make_openssl_cipher, message, count);
    for (const std::size_t piece : {1, 7, 16, 48, 100, 1024, 20000}) {
      for (const Maker make : kMakers) {
        EXPECT_EQ(sealed(make, message, piece), wanted) << count << " in pieces of " << piece;
        EXPECT_EQ(opened(make, message, wanted, piece), message.text) << count << " in pieces of " << piece;
      }
    }
  }
}

TEST(RecordCipher, OpensNothingThatWasChanged) {
  std::mt19937 random(2);
  const Message message = some_message(random, 333);
  const std::string made = sealed(make_record_cipher, message, 333);
  for (const Maker make : kMakers) {
    for (std::size_t at = 0; at < made.size(); ++at) {
      std::string changed = made;
      changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
      EXPECT_FALSE(opened(make, message, changed, 333)) << "byte " << at;
    }
    Message other = message;
    other.header[2] ^= 1;
    EXPECT_FALSE(opened(make, other, made, 333));
    other = message;
    other.nonce[11] ^= 1;
    EXPECT_FALSE(opened(make, other, made, 333));
    other = message;
    other.key[0] ^= 1;
    EXPECT_FALSE(opened(make, other, made, 333));
  }
}

}  // namespace
}  // namespace cohort::distribute::rpc::test
