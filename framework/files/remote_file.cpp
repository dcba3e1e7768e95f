#include "cohort/files/remote_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "cohort/core/error.h"
#include "cohort/files/http_client.h"

namespace cohort {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::size_t kMostOfRequest = std::size_t{16} << 20;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string first_set(const char* name, const char* other, const char* fallback) {
  const std::string value = environment(name), second = environment(other);
  return !value.empty() ? value : !second.empty() ? second : fallback;
}

std::string s3_region() { return first_set("AWS_REGION", "AWS_DEFAULT_REGION", "us-east-1"); }

// Where an object of S3 is asked for.
std::string s3_url(const char* who, const std::string& address) {
  const std::string rest = address.substr(kS3.size());
  const std::size_t slash = rest.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == rest.size()) {
    throw invalid_argument(who, "an address s3://BUCKET/KEY is expected", {{"file", address}});
  }
  std::string endpoint = environment("AWS_ENDPOINT_URL");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) return endpoint + "/" + url_escaped(rest);
  return "https://" + rest.substr(0, slash) + ".s3." + s3_region() + ".amazonaws.com" + url_escaped(rest.substr(slash));
}

}  // namespace

bool RemoteFile::is_address(std::string_view name) {
  return name.starts_with("http://") || name.starts_with("https://") || name.starts_with(kS3);
}

// One connection, kept between requests, and the bytes read ahead.
struct RemoteFile::Connection {
  Connection(const char* name, const std::string& of, const RemoteFileOptions& how)
      : who(name), address(of), options(how), signed_request(of.starts_with(kS3)), client(name) {
    url = signed_request ? s3_url(who, address) : address;
  }

  // The size, and what tells this file from another one there.
  std::uint64_t ask_for_size() {
    HttpRequest request = new_request();
    request.head_only = true;
    const HttpAnswer answer = client.ask(request, options.attempts, options.first_wait);
    if (answer.status != 200 || answer.content_length < 0) refuse(answer, 0);
    etag = answer.etag;
    return static_cast<std::uint64_t>(answer.content_length);
  }
  // Exactly these bytes, which the file has.
  void read_range(std::uint64_t offset, char* target, std::size_t bytes, std::uint64_t size) {
    HttpRequest request = new_request();
    request.range = std::to_string(offset) + "-" + std::to_string(offset + bytes - 1);
    request.target = target;
    request.room = bytes;
    const HttpAnswer answer = client.ask(request, options.attempts, options.first_wait);
    if (answer.status == 412 || answer.status == 416 || (answer.status == 206 && answer.etag != etag)) changed(offset);
    if (answer.status != 206) refuse(answer, offset);
    const std::string expected = "bytes " + request.range + "/" + std::to_string(size);
    if (answer.content_range != expected || answer.bytes != bytes) changed(offset);
  }

  const char* who;
  std::string address, url, etag;
  RemoteFileOptions options;
  bool signed_request;
  HttpClient client;
  std::mutex mutex;
  std::string ahead;  // bytes from ahead_at on
  std::uint64_t ahead_at = 0;

 private:
  HttpRequest new_request() const {
    HttpRequest request{.url = url};
    request.deadline = options.deadline;
    // A signature holds for one host alone.
    request.follow_redirects = options.follow_redirects && !signed_request;
    if (!etag.empty() && !etag.starts_with("W/")) request.headers.push_back("If-Match: " + etag);
    const std::string key = environment("AWS_ACCESS_KEY_ID"), token = environment("AWS_SESSION_TOKEN");
    if (!signed_request || key.empty()) return request;
    request.s3_region = s3_region();
    request.s3_key = key + ":" + environment("AWS_SECRET_ACCESS_KEY");
    if (!token.empty()) request.headers.push_back("x-amz-security-token: " + token);
    return request;
  }
  [[noreturn]] void changed(std::uint64_t offset) const {
    throw Error(ErrorCode::DataLoss, who, "the file that the dataset was made of is expected",
                {{"file", address}, {"offset", offset}, {"problem", "it has changed"}}, "Make the dataset again.");
  }
  [[noreturn]] void refuse(const HttpAnswer& answer, std::uint64_t offset) const {
    const ErrorCode code = answer.status == 404 || answer.status == 410   ? ErrorCode::NotFound
                           : answer.status == 401 || answer.status == 403 ? ErrorCode::PermissionDenied
                           : answer.status == 200                         ? ErrorCode::FailedPrecondition
                                                                          : ErrorCode::Unavailable;
    throw Error(code, who, "a file on a server that gives its size and ranges of it is expected",
                {{"file", address}, {"offset", offset}, {"status", answer.status}, {"problem", answer.problem}});
  }
};

RemoteFile::RemoteFile(const char* who, std::string address, std::optional<std::uint64_t> expected_bytes,
                       const RemoteFileOptions& options)
    : address_(std::move(address)) {
  if (!is_address(address_)) {
    throw invalid_argument(who, "an address http://, https:// or s3:// is expected", {{"file", address_}});
  }
  connection_ = std::make_unique<Connection>(who, address_, options);
  size_ = connection_->ask_for_size();
  if (expected_bytes && *expected_bytes != size_) {
    throw failed_precondition(who, "the file that the dataset was made of is expected",
                              {{"file", address_}, {"bytes", size_}, {"bytes_then", *expected_bytes}},
                              "Make the dataset again after changing its files.");
  }
}

RemoteFile::~RemoteFile() = default;

std::size_t RemoteFile::read_at(std::uint64_t offset, void* target, std::size_t bytes) const {
  if (offset >= size_) return 0;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset));
  auto* next = static_cast<char*>(target);
  Connection& connection = *connection_;
  std::lock_guard lock(connection.mutex);
  std::size_t done = 0;
  const auto take_ahead = [&] {
    const std::uint64_t at = offset + done;
    if (at < connection.ahead_at || at >= connection.ahead_at + connection.ahead.size()) return;
    const auto skipped = static_cast<std::size_t>(at - connection.ahead_at);
    const std::size_t some = std::min(wanted - done, connection.ahead.size() - skipped);
    std::memcpy(next + done, connection.ahead.data() + skipped, some);
    done += some;
  };
  take_ahead();
  // In parts, each of which a slow connection can bring before its deadline.
  while (wanted - done >= connection.options.read_ahead) {
    const std::size_t part = std::min(wanted - done, kMostOfRequest);
    connection.read_range(offset + done, next + done, part, size_);
    done += part;
  }
  if (done == wanted) return wanted;
  const std::uint64_t at = offset + done;
  std::string fresh(static_cast<std::size_t>(std::min<std::uint64_t>(connection.options.read_ahead, size_ - at)), '\0');
  connection.read_range(at, fresh.data(), fresh.size(), size_);
  connection.ahead = std::move(fresh);
  connection.ahead_at = at;
  take_ahead();
  return wanted;
}

}  // namespace cohort
