#include "cohort/distribute/cluster/certificates.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/address.h"
#include "cohort/distribute/cluster/openssl_objects.h"

namespace cohort::distribute {
namespace {

using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Bytes = std::unique_ptr<BIO, Freed<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;

template <class T>
T made(T object, const char* what) {
  if (!object) throw openssl_error("certificates", std::string(what) + " could not be made");
  return object;
}

void check(bool done, const char* what) {
  if (!done) throw openssl_error("certificates", std::string(what) + " failed");
}

std::string pem_of(const Bytes& bytes) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bytes.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

Certificate parse_certificate(std::string_view text) {
  const Bytes bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  return Certificate(PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr));
}

Key parse_key(std::string_view text) {
  const Bytes bytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // Without a terminal nobody can be asked for a password.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  return Key(PEM_read_bio_PrivateKey(bytes.get(), nullptr, no_password, nullptr));
}

KeyedCertificate written(const Certificate& certificate, const Key& key) {
  const Bytes first(made(BIO_new(BIO_s_mem()), "memory")), second(made(BIO_new(BIO_s_mem()), "memory"));
  check(PEM_write_bio_X509(first.get(), certificate.get()) == 1, "writing a certificate");
  check(PEM_write_bio_PKCS8PrivateKey(second.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1,
        "writing a key");
  return {pem_of(first), pem_of(second)};
}

Key new_key() { return Key(made(EVP_EC_gen("P-256"), "a key")); }

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(made(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()), "an extension"));
  check(X509_add_ext(certificate, extension.get(), -1) == 1, "adding an extension");
}

// With a subject, a number that nobody guesses, and a time from which it holds.
Certificate new_certificate(const std::string& subject, const Key& key, int days, int begins = 0) {
  Certificate certificate(made(X509_new(), "a certificate"));
  const std::string number = random_bytes(16);
  BIGNUM* serial =
      BN_bin2bn(reinterpret_cast<const unsigned char*>(number.data()), static_cast<int>(number.size()), nullptr);
  const bool numbered = serial && BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(certificate.get()));
  BN_free(serial);
  check(numbered && X509_set_version(certificate.get(), X509_VERSION_3) == 1, "numbering a certificate");
  // Clocks of a cluster differ.
  constexpr long kHourBefore = -3600;
  check(X509_time_adj_ex(X509_getm_notBefore(certificate.get()), begins, kHourBefore, nullptr) &&
            X509_time_adj_ex(X509_getm_notAfter(certificate.get()), days, 0, nullptr) &&
            X509_set_pubkey(certificate.get(), key.get()) == 1,
        "filling a certificate");
  X509_NAME* name = X509_get_subject_name(certificate.get());
  check(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(subject.data()),
                                   static_cast<int>(subject.size()), -1, 0) == 1,
        "naming a certificate");
  return certificate;
}

void sign(const Certificate& certificate, const Certificate& issuer, const Key& key) {
  check(X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get())) == 1 &&
            X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0,
        "signing a certificate");
}

// A list for OpenSSL's own notation, in which a comma would begin another entry: hosts have none.
std::string alternative_names(const TaskIdentity& task, const std::vector<std::string>& hosts) {
  std::string names = "URI:" + task.uri();
  for (const std::string& host : hosts) {
    const Address address =
        parse_address(host.find(':') == std::string::npos ? host + ":0" : "[" + host + "]:0", "certificates");
    const bool digits = address.host.find_first_not_of("0123456789.") == std::string::npos;
    names += (digits || address.host.find(':') != std::string::npos ? ",IP:" : ",DNS:") + address.host;
  }
  return names;
}

std::vector<std::string> uris_of(X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> uris;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* text = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                      static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return uris;
}

void check_signed_by(X509* certificate, X509* authority, std::string_view who) {
  const Store store(made(X509_STORE_new(), "a store"));
  const StoreContext context(made(X509_STORE_CTX_new(), "a check"));
  check(X509_STORE_add_cert(store.get(), authority) == 1 &&
            X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) == 1,
        "checking a certificate");
  if (X509_verify_cert(context.get()) == 1) return;
  throw invalid_argument(who, "a certificate that the authority has signed and that holds today is expected",
                         {{"problem", X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()))}},
                         "Make it again with `cohort certs make`.");
}

}  // namespace

KeyedCertificate make_authority(std::string_view cluster, int days) {
  const Key key = new_key();
  const Certificate certificate = new_certificate("Cohort authority of " + std::string(cluster), key, days);
  add_extension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash");
  sign(certificate, certificate, key);
  return written(certificate, key);
}

KeyedCertificate make_task_certificate(const KeyedCertificate& authority, const TaskIdentity& task,
                                       const std::vector<std::string>& hosts, int days, int begins) {
  const Certificate issuer = parse_certificate(authority.certificate);
  const Key issuer_key = parse_key(authority.key);
  if (!issuer || !issuer_key || X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    throw invalid_argument("certificates", "a certificate of an authority and its key are expected");
  }
  const Key key = new_key();
  const Certificate certificate = new_certificate(task.job + "-" + std::to_string(task.index), key, days, begins);
  add_extension(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(certificate.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  add_extension(certificate.get(), issuer.get(), NID_subject_key_identifier, "hash");
  add_extension(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid:always");
  add_extension(certificate.get(), issuer.get(), NID_subject_alt_name, alternative_names(task, hosts));
  sign(certificate, issuer, issuer_key);
  return written(certificate, key);
}

KeyedCertificate make_own_certificate(int days) {
  const Key key = new_key();
  const Certificate certificate = new_certificate("Cohort", key, days);
  sign(certificate, certificate, key);
  return written(certificate, key);
}

TaskIdentity identity_of_certificate(const KeyedCertificate& text, const std::string& authority_text,
                                     std::string_view who) {
  const Certificate certificate = parse_certificate(text.certificate), authority = parse_certificate(authority_text);
  const Key key = parse_key(text.key);
  if (!certificate || !authority || !key) {
    const std::string why = openssl_problem();
    throw invalid_argument(who,
                           std::string(!authority     ? "the authority's certificate"
                                       : !certificate ? "a certificate"
                                                      : "a private key without a password") +
                               " in PEM's form is expected",
                           {{"problem", why}});
  }
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    throw invalid_argument(who, "the private key of the certificate is expected, not another one");
  }
  check_signed_by(certificate.get(), authority.get(), who);
  for (const std::string& uri : uris_of(certificate.get())) {
    if (auto identity = parse_identity(uri)) return *identity;
  }
  throw invalid_argument(who, "a task's certificate has cohort://CLUSTER/JOB/INDEX among its alternative names", {},
                         "Make it with `cohort certs make`, or ask for that name.");
}

std::string fingerprint_of(std::string_view text) {
  const Certificate certificate = parse_certificate(text);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (!certificate || X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1) {
    throw invalid_argument("fingerprint", "a certificate in PEM's form is expected", {{"problem", openssl_problem()}});
  }
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  check(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size) != nullptr,
        "an authentication code");
  return {reinterpret_cast<const char*>(digest.data()), size};
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  check(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(count)) == 1, "drawing a number");
  return bytes;
}

}  // namespace cohort::distribute
