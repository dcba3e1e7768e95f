#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cohort {

// What is asked of a server over http:// or https://.
struct HttpRequest {
  std::string url;
  // Each "Name: value".
  std::vector<std::string> headers = {};
  // For the headers of the answer alone.
  bool head_only = false;
  // Bytes of the body that are asked for, "0-99"; empty: all of them.
  std::string range = {};
  // Memory that the body goes to; none: the answer's own.
  char* target = nullptr;
  // How many bytes of body are taken; a longer one ends the transfer.
  std::size_t room = 0;
  // Signs the request for S3 of this region with "KEY:SECRET"; empty: unsigned.
  std::string s3_region = {};
  std::string s3_key = {};
  // Whether another address that the server names is gone to.
  bool follow_redirects = true;
  // File of the certificates (PEM) that may have signed the server's; empty: those of the system.
  std::string ca_file = {};
  // Whether the proxies that the environment names are used.
  bool use_proxies = true;
  // The longest that it may take.
  std::chrono::milliseconds deadline{60000};
};

// The parts of an answer that matter.
struct HttpAnswer {
  // 0: none came, and `problem` says why.
  long status = 0;
  std::string problem;
  // Whether the same request may fare better later.
  bool retryable = false;
  // Whether none came because the server's certificate did not hold.
  bool distrusted = false;
  std::string etag, content_range;
  // Of the whole body; -1: not said.
  std::int64_t content_length = -1;
  // Where no memory was given.
  std::string body;
  // Bytes of body that came.
  std::size_t bytes = 0;
};

// Asks servers over HTTP and keeps the connection between requests. For one thread at a time.
class HttpClient {
 public:
  // Throws Unimplemented in the name of `who` where the library was built without libcurl.
  explicit HttpClient(std::string_view who);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Asks once.
  HttpAnswer ask(const HttpRequest& request);
  // Asks again while that may help, `attempts` times at most, with waits that double.
  HttpAnswer ask(const HttpRequest& request, int attempts, std::chrono::milliseconds first_wait);

 private:
  struct Handle;

  std::unique_ptr<Handle> handle_;
};

// As part of an address: what means something there is written in hexadecimal; slashes stay.
std::string url_escaped(std::string_view text);

}  // namespace cohort
