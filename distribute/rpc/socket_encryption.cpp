#include "cohort/distribute/rpc/socket_encryption.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/openssl_objects.h"

namespace cohort::distribute::rpc {
namespace {

using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, Freed<SSL_SESSION_free>>;

constexpr char kKeyName[] = "cohort";
// TLS_AES_128_GCM_SHA256: the one that all of TLS 1.3 know, and the fastest where processors know AES.
constexpr char kCipher[] = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherNumber[] = {0x13, 0x01};
// Then the sender takes the next one: a sixth of what one is good for with AES-GCM.
constexpr std::uint64_t kBytesOfAKey = std::uint64_t{64} << 30;
// Some records at a time: few calls of the system, and still in the nearest cache.
constexpr std::size_t kReadAhead = std::size_t{128} << 10;

Error cannot(const char* what) {
  return Error(ErrorCode::Internal, "SocketEncryption", what, {{"problem", openssl_problem()}});
}

// A session that was never held: what TLS 1.3 calls an external key.
Session session_of(SSL* ssl, const std::string& key) {
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, kCipherNumber);
  Session session(SSL_SESSION_new());
  if (cipher == nullptr || !session ||
      SSL_SESSION_set1_master_key(session.get(), reinterpret_cast<const unsigned char*>(key.data()), key.size()) != 1 ||
      SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
    return nullptr;
  }
  return session;
}

const std::string& key_of(SSL* ssl) { return *static_cast<const std::string*>(SSL_get_app_data(ssl)); }

int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* name_bytes,
            SSL_SESSION** session) {
  *session = nullptr;
  if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
  *session = session_of(ssl, key_of(ssl)).release();
  *name = reinterpret_cast<const unsigned char*>(kKeyName);
  *name_bytes = sizeof kKeyName - 1;
  return *session != nullptr ? 1 : 0;
}

int find_key(SSL* ssl, const unsigned char* name, std::size_t name_bytes, SSL_SESSION** session) {
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(name), name_bytes) != kKeyName) return 1;
  *session = session_of(ssl, key_of(ssl)).release();
  return *session != nullptr ? 1 : 0;
}

Context make_context(SocketEncryption::Side side) {
  const bool calls = side == SocketEncryption::Side::Caller;
  Context context(SSL_CTX_new(calls ? TLS_client_method() : TLS_server_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), kCipher) != 1) {
    throw cannot("OpenSSL must know TLS 1.3");
  }
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_default_read_buffer_len(context.get(), kReadAhead);
  // No certificate is trusted, and a task has none: without the key there is no way in.
  SSL_CTX_set_verify(context.get(), calls ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  calls ? SSL_CTX_set_psk_use_session_callback(context.get(), use_key)
        : SSL_CTX_set_psk_find_session_callback(context.get(), find_key);
  return context;
}

SSL_CTX* context_of(SocketEncryption::Side side) {
  static const Context caller = make_context(SocketEncryption::Side::Caller);
  static const Context task = make_context(SocketEncryption::Side::Task);
  return side == SocketEncryption::Side::Caller ? caller.get() : task.get();
}

using Bytes = std::vector<char>;

// Where records go: they are sent many at once.
int keep_record(BIO* bio, const char* bytes, std::size_t count, std::size_t* written) {
  auto& kept = *static_cast<Bytes*>(BIO_get_data(bio));
  try {
    kept.insert(kept.end(), bytes, bytes + count);
  } catch (const std::bad_alloc&) {
    return 0;  // OpenSSL knows no exceptions
  }
  *written = count;
  return 1;
}
long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* keeping_method() {
  static const std::unique_ptr<BIO_METHOD, Freed<BIO_meth_free>> method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kept records");
    BIO_meth_set_write_ex(made, keep_record);
    BIO_meth_set_ctrl(made, control);
    return std::unique_ptr<BIO_METHOD, Freed<BIO_meth_free>>(made);
  }();
  return method.get();
}

}  // namespace

class SocketEncryption::Body {
 public:
  Body(int socket, Side side, std::string key)
      : socket_(socket), key_(std::move(key)), ssl_(SSL_new(context_of(side))) {
    if (!ssl_) throw cannot("OpenSSL must have memory for a connection");
    SSL_set_app_data(ssl_.get(), &key_);
    BIO* const incoming = BIO_new_socket(socket, BIO_NOCLOSE);
    BIO* const outgoing = BIO_new(keeping_method());
    SSL_set_bio(ssl_.get(), incoming, outgoing);
    if (incoming == nullptr || outgoing == nullptr) throw cannot("OpenSSL must have memory for a connection");
    BIO_set_data(outgoing, &records_);
    BIO_set_init(outgoing, 1);
    side == Side::Caller ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
  }

  bool greet() {
    if (!greeted_ && !ended_) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      // Who has come in without the key has not come in.
      greeted_ = done == 1 && SSL_session_reused(ssl_.get()) == 1;
      ended_ = !greeted_ && (done == 1 || SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ);
    }
    return flush() && greeted_;
  }

  std::size_t read(std::span<char> to) {
    if (ended_) return 0;
    ERR_clear_error();
    std::size_t count = 0;
    const int done = SSL_read_ex(ssl_.get(), to.data(), to.size(), &count);
    if (done != 1) ended_ = SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ;
    return count;
  }

  void write(std::span<const char> bytes) {
    ERR_clear_error();
    written_ += bytes.size();
    if (written_ >= kBytesOfAKey) {
      SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
      written_ = 0;
    }
    std::size_t count = 0;
    if (ended_ || SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count) != 1) ended_ = true;
  }

  bool flush() {
    while (sent_ < records_.size()) {
      const ssize_t count =
          send(socket_, records_.data() + sent_, records_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        ended_ = ended_ || (errno != EAGAIN && errno != EWOULDBLOCK);
        return false;
      }
      sent_ += static_cast<std::size_t>(count);
    }
    records_.clear();
    sent_ = 0;
    return !ended_;
  }

  bool has_ended() const { return ended_; }

 private:
  const int socket_;
  const std::string key_;
  Bytes records_;
  std::size_t sent_ = 0;
  std::uint64_t written_ = 0;  // since the present key
  const std::unique_ptr<SSL, Freed<SSL_free>> ssl_;
  bool greeted_ = false, ended_ = false;
};

SocketEncryption::SocketEncryption(int socket, Side side, std::string key)
    : body_(std::make_unique<Body>(socket, side, std::move(key))) {}
SocketEncryption::~SocketEncryption() = default;
bool SocketEncryption::greet() { return body_->greet(); }
std::size_t SocketEncryption::read(std::span<char> to) { return body_->read(to); }
void SocketEncryption::write(std::span<const char> bytes) { body_->write(bytes); }
bool SocketEncryption::flush() { return body_->flush(); }
bool SocketEncryption::has_ended() const { return body_->has_ended(); }

}  // namespace cohort::distribute::rpc
