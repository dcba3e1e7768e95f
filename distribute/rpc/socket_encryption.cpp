#include "cohort/distribute/rpc/socket_encryption.h"

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "cohort/distribute/cluster/openssl_objects.h"
#include "cohort/distribute/rpc/record_protection.h"

namespace cohort::distribute::rpc {
namespace {

using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, Freed<SSL_SESSION_free>>;

constexpr char kKeyName[] = "cohort";
// TLS_AES_128_GCM_SHA256: the one that all of TLS 1.3 know, and the fastest where processors know AES.
constexpr char kCipher[] = "TLS_AES_128_GCM_SHA256";
constexpr unsigned char kCipherNumber[] = {0x13, 0x01};
// Some records at a time: few calls of the system, and still in the nearest caches.
constexpr std::size_t kLargestRecord = RecordProtection::kLargestContent + RecordProtection::kAround;
constexpr std::size_t kIncomingBytes = 8 * kLargestRecord;
// Opened where it lies and copied, so that only what carries bytes is ever opened elsewhere.
constexpr std::size_t kSmallContent = std::size_t{1} << 10;
// KeyUpdate of RFC 8446, section 4.6.3, which asks for none in return.
constexpr std::array<char, 5> kKeyUpdate{24, 0, 0, 1, 0};
// What follows the content of a record before the next: its own frame, and perhaps a change of keys.
constexpr std::size_t kLargestBetween = 2 * RecordProtection::kAround + kKeyUpdate.size();
constexpr std::size_t kOutgoingBytes = 4 * kLargestRecord + kLargestBetween;

Error cannot(const char* what) { return openssl_error("SocketEncryption", what); }

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

// What a handshake begins with and ends in.
struct Negotiation {
  std::string key;
  struct OfSide {
    RecordProtection::Secret secret{};
    bool known = false;
  };
  OfSide caller, task;  // what each protects with that which it sends

  void forget() {
    for (OfSide* side : {&caller, &task}) OPENSSL_cleanse(side->secret.data(), side->secret.size());
    OPENSSL_cleanse(key.data(), key.size());
  }
  ~Negotiation() { forget(); }
};

Negotiation& negotiation_of(const SSL* ssl) { return *static_cast<Negotiation*>(SSL_get_app_data(ssl)); }

int use_key(SSL* ssl, const EVP_MD* digest, const unsigned char** name, std::size_t* name_bytes,
            SSL_SESSION** session) {
  *session = nullptr;
  if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
  *session = session_of(ssl, negotiation_of(ssl).key).release();
  *name = reinterpret_cast<const unsigned char*>(kKeyName);
  *name_bytes = sizeof kKeyName - 1;
  return *session != nullptr ? 1 : 0;
}

int find_key(SSL* ssl, const unsigned char* name, std::size_t name_bytes, SSL_SESSION** session) {
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(name), name_bytes) != kKeyName) return 1;
  *session = session_of(ssl, negotiation_of(ssl).key).release();
  return *session != nullptr ? 1 : 0;
}

// OpenSSL tells the secrets it has come to in a line each, "NAME RANDOM SECRET" in hexadecimal digits, which it wipes
// itself.
void keep_secret(const SSL* ssl, const char* line) {
  const std::string_view text = line;
  Negotiation& negotiation = negotiation_of(ssl);
  Negotiation::OfSide* const side = text.starts_with("CLIENT_TRAFFIC_SECRET_0 ")   ? &negotiation.caller
                                    : text.starts_with("SERVER_TRAFFIC_SECRET_0 ") ? &negotiation.task
                                                                                   : nullptr;
  if (side == nullptr) return;
  const std::string_view digits = text.substr(text.rfind(' ') + 1);
  std::size_t count = 0;
  side->known = digits.size() == 2 * side->secret.size() &&
                OPENSSL_hexstr2buf_ex(side->secret.data(), side->secret.size(), &count, digits.data(), '\0') == 1 &&
                count == side->secret.size();
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
  // What comes behind the handshake is not for OpenSSL to read.
  SSL_CTX_set_read_ahead(context.get(), 0);
  SSL_CTX_set_keylog_callback(context.get(), keep_secret);
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

// What is on its way out: records are sent some at a time.
struct Outgoing {
  std::span<char> room() const { return {bytes.get() + filled, kOutgoingBytes - filled}; }
  std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(kOutgoingBytes);
  std::size_t filled = 0, sent = 0;
};

int keep_record(BIO* bio, const char* bytes, std::size_t count, std::size_t* written) {
  auto& outgoing = *static_cast<Outgoing*>(BIO_get_data(bio));
  if (count > outgoing.room().size()) return 0;
  std::copy_n(bytes, count, outgoing.room().data());
  outgoing.filled += count;
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

// OpenSSL does the handshake and goes: the records behind it are made and opened here.
class SocketEncryption::Body {
 public:
  Body(int socket, Side side, std::string key, std::uint64_t bytes_of_a_key)
      : socket_(socket), side_(side), bytes_of_a_key_(bytes_of_a_key), ssl_(SSL_new(context_of(side))) {
    negotiation_.key = std::move(key);
    if (!ssl_) throw cannot("OpenSSL must have memory for a connection");
    SSL_set_app_data(ssl_.get(), &negotiation_);
    BIO* const incoming = BIO_new_socket(socket, BIO_NOCLOSE);
    BIO* const outgoing = BIO_new(keeping_method());
    SSL_set_bio(ssl_.get(), incoming, outgoing);
    if (incoming == nullptr || outgoing == nullptr) throw cannot("OpenSSL must have memory for a connection");
    BIO_set_data(outgoing, &outgoing_);
    BIO_set_init(outgoing, 1);
    side == Side::Caller ? SSL_set_connect_state(ssl_.get()) : SSL_set_accept_state(ssl_.get());
  }

  bool greet() {
    if (!greeted_ && !ended_) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      // Who has come in without the key has not come in.
      greeted_ = done == 1 && SSL_session_reused(ssl_.get()) == 1 && take_over();
      ended_ = !greeted_ && (done == 1 || SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ);
      if (greeted_) ssl_.reset();
    }
    return flush() && greeted_;
  }

  std::size_t read(std::span<char> to) {
    std::size_t count = 0;
    while (greeted_ && !ended_ && count < to.size()) {
      const std::span<char> room = to.subspan(count);
      if (!opened_.empty()) {
        const std::size_t part = std::min(opened_.size(), room.size());
        std::copy_n(opened_.data(), part, room.data());
        opened_ = opened_.subspan(part);
        count += part;
      } else if (const std::optional<std::size_t> content = content_here()) {
        const bool in_place = *content < kSmallContent || *content > room.size();
        // Next time there may be room for it.
        if (in_place && count > 0) break;
        count += open(*content, in_place ? std::span<char>() : room);
      } else if (count > 0 || !receive()) {
        break;
      }
    }
    return count;
  }

  std::size_t write(std::span<const iovec> pieces) {
    if (!greeted_ || ended_) return 0;
    std::size_t left = 0, taken = 0;
    for (const iovec& piece : pieces) left += piece.iov_len;
    while (left > 0) {
      const std::size_t content = std::min(left, RecordProtection::kLargestContent);
      // More follows at once: what does not fill a packet waits for it.
      if (outgoing_.room().size() < content + kLargestBetween && !send_records(MSG_MORE)) break;
      seal(RecordProtection::Content::Data, pieces, taken, content);
      taken += content;
      left -= content;
      written_ += content + RecordProtection::kAround;  // tags, too, wear a key
      if (written_ >= bytes_of_a_key_) take_next_key();
    }
    return ended_ ? 0 : taken;
  }

  bool flush() { return send_records(0); }

  bool has_ended() const { return ended_; }

 private:
  // The handshake is done: what protects each direction now is known.
  bool take_over() {
    const bool calls = side_ == Side::Caller;
    const Negotiation::OfSide &own = calls ? negotiation_.caller : negotiation_.task,
                              &other = calls ? negotiation_.task : negotiation_.caller;
    if (!own.known || !other.known || SSL_has_pending(ssl_.get()) != 0) return false;
    sealing_.emplace(CipherUse::Sealing, own.secret);
    opening_.emplace(CipherUse::Opening, other.secret);
    negotiation_.forget();
    incoming_ = std::make_unique_for_overwrite<char[]>(kIncomingBytes);
    return true;
  }

  void seal(RecordProtection::Content kind, std::span<const iovec> pieces, std::size_t skipped, std::size_t count) {
    if (!sealing_->seal(kind, pieces, skipped, count, outgoing_.room().data())) ended_ = true;
    outgoing_.filled += count + RecordProtection::kAround;
  }
  void take_next_key() {
    const iovec piece{const_cast<char*>(kKeyUpdate.data()), kKeyUpdate.size()};
    seal(RecordProtection::Content::Handshake, {&piece, 1}, 0, kKeyUpdate.size());
    sealing_->use_next_key();
    written_ = 0;
  }

  bool send_records(int flags) {
    while (outgoing_.sent < outgoing_.filled) {
      const ssize_t count = send(socket_, outgoing_.bytes.get() + outgoing_.sent, outgoing_.filled - outgoing_.sent,
                                 MSG_NOSIGNAL | MSG_DONTWAIT | flags);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        ended_ = ended_ || (errno != EAGAIN && errno != EWOULDBLOCK);
        return false;
      }
      outgoing_.sent += static_cast<std::size_t>(count);
    }
    outgoing_.filled = outgoing_.sent = 0;
    return !ended_;
  }

  // How long the content of the next record is, if all of that has come.
  std::optional<std::size_t> content_here() {
    const std::size_t here = filled_ - used_;
    if (here < RecordProtection::kHeaderBytes) return std::nullopt;
    const std::optional<std::size_t> content = RecordProtection::content_bytes(incoming_.get() + used_);
    if (!content) ended_ = true;
    return content && *content + RecordProtection::kAround <= here ? content : std::nullopt;
  }

  // Opens the next record; how many bytes of it are now in the room. Where there is none the content stays here.
  std::size_t open(std::size_t content, std::span<char> room) {
    char* const record = incoming_.get() + used_;
    char* const to = room.empty() ? record + RecordProtection::kHeaderBytes : room.data();
    used_ += content + RecordProtection::kAround;
    const std::optional<RecordProtection::Content> kind = opening_->open(record, content, to);
    if (!kind) ERR_clear_error();
    if (kind == RecordProtection::Content::Data) {
      if (!room.empty()) return content;
      opened_ = {to, content};
    } else if (kind == RecordProtection::Content::Handshake && room.empty() &&
               std::ranges::equal(std::span(to, content), kKeyUpdate)) {
      opening_->use_next_key();
    } else {
      ended_ = true;  // an alert, too, is the end
    }
    return 0;
  }

  // Gets what has come; false: nothing for now, or nothing any more.
  bool receive() {
    if (ended_) return false;
    std::copy(incoming_.get() + used_, incoming_.get() + filled_, incoming_.get());
    filled_ -= used_;
    used_ = 0;
    ssize_t count;
    do count = recv(socket_, incoming_.get() + filled_, kIncomingBytes - filled_, MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count <= 0) {
      ended_ = count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      return false;
    }
    filled_ += static_cast<std::size_t>(count);
    return true;
  }

  const int socket_;
  const Side side_;
  const std::uint64_t bytes_of_a_key_;
  Negotiation negotiation_;
  Outgoing outgoing_;
  std::unique_ptr<SSL, Freed<SSL_free>> ssl_;  // until it has greeted
  std::optional<RecordProtection> sealing_, opening_;
  std::uint64_t written_ = 0;  // since the present key
  std::unique_ptr<char[]> incoming_;
  std::size_t used_ = 0, filled_ = 0;  // of what has come
  std::span<const char> opened_;       // content of a record there which is not read
  bool greeted_ = false, ended_ = false;
};

SocketEncryption::SocketEncryption(int socket, Side side, std::string key, std::uint64_t bytes_of_a_key)
    : body_(std::make_unique<Body>(socket, side, std::move(key), bytes_of_a_key)) {}
SocketEncryption::~SocketEncryption() = default;
bool SocketEncryption::greet() { return body_->greet(); }
std::size_t SocketEncryption::read(std::span<char> to) { return body_->read(to); }
std::size_t SocketEncryption::write(std::span<const iovec> pieces) { return body_->write(pieces); }
bool SocketEncryption::flush() { return body_->flush(); }
bool SocketEncryption::has_ended() const { return body_->has_ended(); }

}  // namespace cohort::distribute::rpc
