#include "cohort/files/remote_file.h"

#ifdef COHORT_HAS_CURL
#include <curl/curl.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "cohort/core/error.h"

namespace cohort {
namespace {

constexpr std::string_view kS3 = "s3://";
constexpr std::size_t kMostOfRequest = std::size_t{16} << 20;

}  // namespace

bool RemoteFile::is_address(std::string_view name) {
  return name.starts_with("http://") || name.starts_with("https://") || name.starts_with(kS3);
}

#ifndef COHORT_HAS_CURL

struct RemoteFile::Connection {};

RemoteFile::RemoteFile(const char* who, std::string address, std::optional<std::uint64_t>, const RemoteFileOptions&)
    : address_(std::move(address)) {
  throw Error(ErrorCode::Unimplemented, who, "a path is expected: this library was built without libcurl",
              {{"file", address_}}, "Install libcurl's development package and build again.");
}
RemoteFile::~RemoteFile() = default;
std::size_t RemoteFile::read_at(std::uint64_t, void*, std::size_t) const { return 0; }

#else

namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string first_set(const char* name, const char* other, const char* fallback) {
  const std::string value = environment(name), second = environment(other);
  return !value.empty() ? value : !second.empty() ? second : fallback;
}

std::string s3_region() { return first_set("AWS_REGION", "AWS_DEFAULT_REGION", "us-east-1"); }

// As part of an address: what means something there is written in hexadecimal.
std::string escaped(std::string_view key) {
  constexpr std::string_view kPlain = "-_.~/", kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || kPlain.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return result;
}

// Where an object of S3 is asked for.
std::string s3_url(const char* who, const std::string& address) {
  const std::string rest = address.substr(kS3.size());
  const std::size_t slash = rest.find('/');
  if (slash == 0 || slash == std::string::npos || slash + 1 == rest.size()) {
    throw invalid_argument(who, "an address s3://BUCKET/KEY is expected", {{"file", address}});
  }
  std::string endpoint = environment("AWS_ENDPOINT_URL");
  while (endpoint.ends_with('/')) endpoint.pop_back();
  if (!endpoint.empty()) return endpoint + "/" + escaped(rest);
  return "https://" + rest.substr(0, slash) + ".s3." + s3_region() + ".amazonaws.com" + escaped(rest.substr(slash));
}

// The parts of an answer that matter.
struct Answer {
  long status = 0;
  std::string etag, range, problem;
  bool retryable = false;
  // Where the bytes go, and how many fit and came.
  char* target = nullptr;
  std::size_t room = 0, got = 0;
};

std::size_t take_body(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  // More than was asked for ends the transfer: the server ignores ranges.
  if (count > answer.room - answer.got) return 0;
  std::memcpy(answer.target + answer.got, bytes, count);
  answer.got += count;
  return count;
}

std::size_t drop_body(char*, std::size_t, std::size_t count, void*) { return count; }

std::string header_value(std::string_view line, std::string_view name) {
  const auto small = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (line.size() <= name.size() || line[name.size()] != ':' ||
      !std::equal(name.begin(), name.end(), line.begin(), [&](char a, char b) { return a == small(b); })) {
    return {};
  }
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n' || line.back() == ' ')) line.remove_suffix(1);
  return std::string(line);
}

std::size_t take_header(char* bytes, std::size_t, std::size_t count, void* user) {
  auto& answer = *static_cast<Answer*>(user);
  const std::string_view line(bytes, count);
  // Those of the last answer count, behind redirections.
  if (line.starts_with("HTTP/")) answer.etag = answer.range = {};
  if (std::string value = header_value(line, "etag"); !value.empty()) answer.etag = std::move(value);
  if (std::string value = header_value(line, "content-range"); !value.empty()) answer.range = std::move(value);
  return count;
}

void start_curl() {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!started) throw Error(ErrorCode::Unavailable, "RemoteFile", "libcurl that can be started is expected");
}

bool may_be_asked_again(CURLcode code, long status) {
  if (code == CURLE_OK) return status == 408 || status == 429 || status >= 500;
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_OPERATION_TIMEDOUT ||
         code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_PARTIAL_FILE || code == CURLE_SSL_CONNECT_ERROR;
}

}  // namespace

// One connection, kept between requests, and the bytes read ahead.
struct RemoteFile::Connection {
  Connection(const char* name, const std::string& of, const RemoteFileOptions& how)
      : who(name), address(of), options(how), signed_request(of.starts_with(kS3)) {
    start_curl();
    url = signed_request ? s3_url(who, address) : address;
    handle = curl_easy_init();
    if (!handle) throw Error(ErrorCode::ResourceExhausted, who, "memory for a connection is expected");
  }
  ~Connection() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(handle);
  }
  Connection(const Connection&) = delete;

  // The size, and what tells this file from another one there.
  std::uint64_t ask_for_size() {
    Answer answer;
    ask([&] { curl_easy_setopt(handle, CURLOPT_NOBODY, 1L); }, answer);
    curl_off_t length = -1;
    curl_easy_getinfo(handle, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (answer.status != 200 || length < 0) refuse(answer, 0);
    etag = answer.etag;
    return static_cast<std::uint64_t>(length);
  }
  // Exactly these bytes, which the file has.
  void read_range(std::uint64_t offset, char* target, std::size_t bytes, std::uint64_t size) {
    const std::string range = std::to_string(offset) + "-" + std::to_string(offset + bytes - 1);
    Answer answer;
    answer.target = target;
    answer.room = bytes;
    ask(
        [&] {
          curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);
          curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());
        },
        answer);
    if (answer.status == 412 || answer.status == 416 || (answer.status == 206 && answer.etag != etag)) changed(offset);
    if (answer.status != 206) refuse(answer, offset);
    if (answer.range != "bytes " + range + "/" + std::to_string(size) || answer.got != bytes) changed(offset);
  }

  const char* who;
  std::string address, url, etag;
  RemoteFileOptions options;
  bool signed_request;
  CURL* handle = nullptr;
  curl_slist* headers = nullptr;
  std::mutex mutex;
  std::string ahead;  // bytes from ahead_at on
  std::uint64_t ahead_at = 0;

 private:
  template <class Prepare>
  void ask(const Prepare& prepare, Answer& answer) {
    const Answer empty = answer;
    auto wait = options.first_wait;
    for (int attempt = 1;; ++attempt, wait *= 2) {
      answer = empty;
      perform(prepare, answer);
      if (!answer.retryable || attempt >= options.attempts) return;
      std::this_thread::sleep_for(wait);
    }
  }
  template <class Prepare>
  void perform(const Prepare& prepare, Answer& answer) {
    char text[CURL_ERROR_SIZE] = {0};
    curl_easy_reset(handle);
    curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(options.deadline.count()));
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    // A signature holds for one host alone.
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, options.follow_redirects && !signed_request ? 1L : 0L);
    curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https") ? "https" : "http,https");
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, text);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, take_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &answer);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, answer.target ? take_body : drop_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &answer);
    prepare();
    add_headers();
    const CURLcode code = curl_easy_perform(handle);
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &answer.status);
    // An error's text may be longer than the range: then the status counts.
    const bool other_body = code == CURLE_WRITE_ERROR && answer.status != 206;
    answer.retryable = may_be_asked_again(other_body ? CURLE_OK : code, answer.status);
    if (code == CURLE_OK) return;
    answer.problem = text[0] ? text : curl_easy_strerror(code);
    // A body larger than asked for is no range; what the status says counts then.
    if (code != CURLE_WRITE_ERROR || answer.status == 206) answer.status = 0;
  }
  void add_headers() {
    curl_slist_free_all(headers);
    headers = nullptr;
    if (!etag.empty() && !etag.starts_with("W/")) headers = curl_slist_append(headers, ("If-Match: " + etag).c_str());
    const std::string key = environment("AWS_ACCESS_KEY_ID"), secret = environment("AWS_SECRET_ACCESS_KEY");
    if (signed_request && !key.empty()) {
      curl_easy_setopt(handle, CURLOPT_AWS_SIGV4, ("aws:amz:" + s3_region() + ":s3").c_str());
      curl_easy_setopt(handle, CURLOPT_USERPWD, (key + ":" + secret).c_str());
      const std::string token = environment("AWS_SESSION_TOKEN");
      if (!token.empty()) headers = curl_slist_append(headers, ("x-amz-security-token: " + token).c_str());
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
  }
  [[noreturn]] void changed(std::uint64_t offset) const {
    throw Error(ErrorCode::DataLoss, who, "the file that the dataset was made of is expected",
                {{"file", address}, {"offset", offset}, {"problem", "it has changed"}}, "Make the dataset again.");
  }
  [[noreturn]] void refuse(const Answer& answer, std::uint64_t offset) const {
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

#endif

}  // namespace cohort
