#include "cohort/distribute/rpc/record_cipher.h"

#include <openssl/evp.h>

#include "cohort/distribute/cluster/openssl_objects.h"

namespace cohort::distribute::rpc {
namespace {

constexpr const char* kEncryption = "SocketEncryption";

class OpensslCipher final : public RecordCipher {
 public:
  explicit OpensslCipher(CipherUse use) : seals_(use == CipherUse::Sealing ? 1 : 0), context_(EVP_CIPHER_CTX_new()) {
    if (!context_) throw openssl_error(kEncryption, "OpenSSL must have memory for a connection");
  }
  void use_key(const Key& key) override {
    if (EVP_CipherInit_ex(context_.get(), EVP_aes_128_gcm(), nullptr, key.data(), nullptr, seals_) != 1) {
      throw openssl_error(kEncryption, "OpenSSL must know AES-128-GCM");
    }
  }
  bool begin(const Nonce& nonce, std::span<const unsigned char> header) override {
    int count = 0;
    return EVP_CipherInit_ex(context_.get(), nullptr, nullptr, nullptr, nonce.data(), seals_) == 1 &&
           EVP_CipherUpdate(context_.get(), nullptr, &count, header.data(), static_cast<int>(header.size())) == 1;
  }
  bool go_on(const char* from, std::size_t bytes, char* to) override {
    int count = 0;
    return EVP_CipherUpdate(context_.get(), reinterpret_cast<unsigned char*>(to), &count,
                            reinterpret_cast<const unsigned char*>(from), static_cast<int>(bytes)) == 1;
  }
  bool give_tag(char* tag) override {
    return end() && EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, kTagBytes, tag) == 1;
  }
  bool expect_tag(const char* tag) override {
    return EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, kTagBytes, const_cast<char*>(tag)) == 1 && end();
  }

 private:
  bool end() {
    int count = 0;
    unsigned char none[EVP_MAX_BLOCK_LENGTH];
    return EVP_CipherFinal_ex(context_.get(), none, &count) == 1;
  }

  const int seals_;
  const std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>> context_;
};

}  // namespace

std::unique_ptr<RecordCipher> make_openssl_cipher(CipherUse use) { return std::make_unique<OpensslCipher>(use); }

std::unique_ptr<RecordCipher> make_record_cipher(CipherUse use) {
  std::unique_ptr<RecordCipher> wide = make_wide_cipher(use);
  return wide ? std::move(wide) : make_openssl_cipher(use);
}

}  // namespace cohort::distribute::rpc
