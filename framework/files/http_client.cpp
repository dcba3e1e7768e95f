#include "cohort/files/http_client.h"

#ifdef COHORT_HAS_CURL
#include <curl/curl.h>
#endif

#include <algorithm>
#include <cstring>
#include <thread>

#include "cohort/core/error.h"

namespace cohort {

#ifndef COHORT_HAS_CURL

struct HttpClient::Handle {};

HttpClient::HttpClient(std::string_view who) {
  throw unimplemented(who, "a library with libcurl is expected where something is asked for over HTTP", {},
                      "Install libcurl's development package and build again.");
}
HttpAnswer HttpClient::ask(const HttpRequest&) { return {}; }

#else

namespace {

// An answer on its way in.
struct Arriving {
  const HttpRequest& request;
  HttpAnswer& answer;
};

std::size_t take_body(char* bytes, std::size_t, std::size_t count, void* user) {
  const auto& [request, answer] = *static_cast<Arriving*>(user);
  if (request.head_only) return count;
  // More than was asked for ends the transfer: the server ignores ranges.
  if (count > request.room - answer.bytes) return 0;
  if (request.target) {
    std::memcpy(request.target + answer.bytes, bytes, count);
  } else {
    answer.body.append(bytes, count);
  }
  answer.bytes += count;
  return count;
}

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
  HttpAnswer& answer = static_cast<Arriving*>(user)->answer;
  const std::string_view line(bytes, count);
  // Those of the last answer count, behind redirections.
  if (line.starts_with("HTTP/")) answer.etag = answer.content_range = {};
  if (std::string value = header_value(line, "etag"); !value.empty()) answer.etag = std::move(value);
  if (std::string value = header_value(line, "content-range"); !value.empty()) answer.content_range = std::move(value);
  return count;
}

bool may_be_asked_again(CURLcode code, long status) {
  if (code == CURLE_OK) return status == 408 || status == 429 || status >= 500;
  return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_OPERATION_TIMEDOUT ||
         code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_PARTIAL_FILE || code == CURLE_SSL_CONNECT_ERROR;
}

}  // namespace

struct HttpClient::Handle {
  Handle() : curl(curl_easy_init()) {}
  ~Handle() {
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
  }
  Handle(const Handle&) = delete;

  void prepare(const HttpRequest& request) {
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(request.deadline.count()));
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request.follow_redirects ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, request.url.starts_with("https") ? "https" : "http,https");
    if (!request.use_proxies) curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (!request.ca_file.empty()) {
      curl_easy_setopt(curl, CURLOPT_CAINFO, request.ca_file.c_str());
      curl_easy_setopt(curl, CURLOPT_CAPATH, nullptr);
    }
    curl_easy_setopt(curl, request.head_only ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1L);
    if (!request.range.empty()) curl_easy_setopt(curl, CURLOPT_RANGE, request.range.c_str());
    if (!request.s3_key.empty()) {
      curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, ("aws:amz:" + request.s3_region + ":s3").c_str());
      curl_easy_setopt(curl, CURLOPT_USERPWD, request.s3_key.c_str());
    }
    curl_slist_free_all(headers);
    headers = nullptr;
    for (const std::string& header : request.headers) headers = curl_slist_append(headers, header.c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  }

  CURL* curl;
  curl_slist* headers = nullptr;
};

HttpClient::HttpClient(std::string_view who) {
  static const bool started = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!started) throw Error(ErrorCode::Unavailable, who, "libcurl that can be started is expected");
  handle_ = std::make_unique<Handle>();
  if (!handle_->curl) throw Error(ErrorCode::ResourceExhausted, who, "memory for a connection is expected");
}

HttpAnswer HttpClient::ask(const HttpRequest& request) {
  HttpAnswer answer;
  Arriving arriving{request, answer};
  char text[CURL_ERROR_SIZE] = {0};
  CURL* const curl = handle_->curl;
  handle_->prepare(request);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, text);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &arriving);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &arriving);
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  curl_off_t length = -1;
  curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  answer.content_length = length;
  // What is no range, as an error's text, may be longer than one: then the status counts.
  const bool other_body = code == CURLE_WRITE_ERROR && !request.range.empty() && answer.status != 206;
  answer.retryable = may_be_asked_again(other_body ? CURLE_OK : code, answer.status);
  if (code == CURLE_OK) return answer;
  answer.problem = text[0] ? text : curl_easy_strerror(code);
  answer.distrusted = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  if (!other_body) answer.status = 0;
  return answer;
}

#endif

HttpClient::~HttpClient() = default;

HttpAnswer HttpClient::ask(const HttpRequest& request, int attempts, std::chrono::milliseconds first_wait) {
  for (int attempt = 1;; ++attempt, first_wait *= 2) {
    HttpAnswer answer = ask(request);
    if (!answer.retryable || attempt >= attempts) return answer;
    std::this_thread::sleep_for(first_wait);
  }
}

std::string url_escaped(std::string_view text) {
  constexpr std::string_view kPlain = "-_.~/", kDigits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
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

}  // namespace cohort
