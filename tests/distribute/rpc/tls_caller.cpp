#include "tests/distribute/rpc/tls_caller.h"

#include <openssl/ssl.h>

#include <array>

#include "cohort/distribute/cluster/openssl_objects.h"

namespace cohort::distribute::rpc::test {
namespace {

int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* name_bytes, SSL_SESSION** session) {
  static constexpr unsigned char kName[] = {'c', 'o', 'h', 'o', 'r', 't'};
  static constexpr unsigned char kCipher[] = {0x13, 0x01};
  const auto& key = *static_cast<const std::string*>(SSL_get_app_data(ssl));
  *session = SSL_SESSION_new();
  SSL_SESSION_set1_master_key(*session, reinterpret_cast<const unsigned char*>(key.data()), key.size());
  SSL_SESSION_set_cipher(*session, SSL_CIPHER_find(ssl, kCipher));
  SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION);
  *name = kName;
  *name_bytes = sizeof kName;
  return 1;
}

}  // namespace

class TlsCaller::Body {
 public:
  Body(int socket, const std::string& key)
      : key_(key), context_(SSL_CTX_new(TLS_client_method())), ssl_((set_up(context_.get()), SSL_new(context_.get()))) {
    SSL_set_app_data(ssl_.get(), &key_);
    SSL_set_fd(ssl_.get(), socket);
    SSL_set_connect_state(ssl_.get());
  }
  SSL* ssl() { return ssl_.get(); }

 private:
  static void set_up(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_psk_use_session_callback(context, offer_key);
  }
  std::string key_;
  const std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>> context_;
  const std::unique_ptr<SSL, Freed<SSL_free>> ssl_;
};

TlsCaller::TlsCaller(int socket, const std::string& key) : body_(std::make_unique<Body>(socket, key)) {}
TlsCaller::~TlsCaller() { ERR_clear_error(); }

bool TlsCaller::greet() { return SSL_do_handshake(body_->ssl()) == 1; }

bool TlsCaller::say(const std::string& bytes) {
  std::size_t count = 0;
  return SSL_write_ex(body_->ssl(), bytes.data(), bytes.size(), &count) == 1 && count == bytes.size();
}

std::string TlsCaller::hear() {
  std::string heard;
  std::array<char, 4096> some;
  for (std::size_t count = 0; SSL_read_ex(body_->ssl(), some.data(), some.size(), &count) == 1;) {
    heard.append(some.data(), count);
  }
  return heard;
}

bool TlsCaller::take_next_key() { return SSL_key_update(body_->ssl(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1; }
void TlsCaller::pad(std::size_t bytes) { SSL_set_block_padding(body_->ssl(), bytes); }
void TlsCaller::say_goodbye() { SSL_shutdown(body_->ssl()); }

}  // namespace cohort::distribute::rpc::test
