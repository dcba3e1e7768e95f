#include "cohort/distribute/rpc/record_cipher.h"

#ifdef COHORT_HAS_IPSEC_MB
#include <intel-ipsec-mb.h>
#include <openssl/crypto.h>
#endif

namespace cohort::distribute::rpc {

#ifdef COHORT_HAS_IPSEC_MB

namespace {

// Its functions for this processor; nullptr where it has no wide vectors, for then OpenSSL is as quick. Never freed: a
// connection may end after the statics of the process.
const IMB_MGR* wide_functions() {
  static const IMB_MGR* const kFunctions = []() -> const IMB_MGR* {
    IMB_MGR* manager = alloc_mb_mgr(0);
    if (!manager) return nullptr;
    IMB_ARCH level = IMB_ARCH_NONE;
    init_mb_mgr_auto(manager, &level);
    if (imb_get_errno(manager) == 0 && level >= IMB_ARCH_AVX2) return manager;
    free_mb_mgr(manager);
    return nullptr;
  }();
  return kFunctions;
}

class WideCipher final : public RecordCipher {
 public:
  WideCipher(const IMB_MGR& functions, CipherUse use)
      : functions_(functions),
        update_(use == CipherUse::Sealing ? functions.gcm128_enc_update : functions.gcm128_dec_update),
        end_(use == CipherUse::Sealing ? functions.gcm128_enc_finalize : functions.gcm128_dec_finalize) {}
  ~WideCipher() override {
    OPENSSL_cleanse(&key_, sizeof key_);
    OPENSSL_cleanse(&message_, sizeof message_);
  }
  void use_key(const Key& key) override { functions_.gcm128_pre(key.data(), &key_); }
  bool begin(const Nonce& nonce, std::span<const unsigned char> header) override {
    functions_.gcm128_init(&key_, &message_, nonce.data(), header.data(), header.size());
    return true;
  }
  bool go_on(const char* from, std::size_t bytes, char* to) override {
    update_(&key_, &message_, reinterpret_cast<unsigned char*>(to), reinterpret_cast<const unsigned char*>(from),
            bytes);
    return true;
  }
  bool give_tag(char* tag) override {
    end_(&key_, &message_, reinterpret_cast<unsigned char*>(tag), kTagBytes);
    return true;
  }
  bool expect_tag(const char* tag) override {
    char own[kTagBytes];
    give_tag(own);
    return CRYPTO_memcmp(own, tag, kTagBytes) == 0;
  }

 private:
  const IMB_MGR& functions_;
  const aes_gcm_enc_dec_update_t update_;
  const aes_gcm_enc_dec_finalize_t end_;
  gcm_key_data key_{};
  gcm_context_data message_{};
};

}  // namespace

std::unique_ptr<RecordCipher> make_wide_cipher(CipherUse use) {
  const IMB_MGR* functions = wide_functions();
  return functions ? std::make_unique<WideCipher>(*functions, use) : nullptr;
}

#else

std::unique_ptr<RecordCipher> make_wide_cipher(CipherUse) { return nullptr; }

#endif

}  // namespace cohort::distribute::rpc
