#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

// How a remote file is asked for.
struct RemoteFileOptions {
  // How often something is asked before it counts as out of reach.
  int attempts = 5;
  // The wait after the first attempt that failed; twice as long after each further one.
  std::chrono::milliseconds first_wait{200};
  // The longest that one request may take.
  std::chrono::milliseconds deadline{60000};
  // Bytes read at a time at least, so that small reads one behind the other are one request.
  std::size_t read_ahead = std::size_t{2} << 20;
  // Goes where the server says the file is.
  bool follow_redirects = true;
};

// A file behind an address, read by ranges: http://, https://, or s3://BUCKET/KEY. Requests to S3 are signed where
// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set (AWS_SESSION_TOKEN, too, where there is one), for AWS_REGION or
// AWS_DEFAULT_REGION, and go to AWS_ENDPOINT_URL where that is set. Reads are thread-safe, one at a time.
class RemoteFile {
 public:
  // Whether a name is an address and no path.
  static bool is_address(std::string_view name);

  // Asks for the size. Throws unless the file is there and, where a size is given, has that size.
  //   who: names the source in errors.
  //   address: of the file.
  //   expected_bytes: the size that it had when the dataset was made.
  RemoteFile(const char* who, std::string address, std::optional<std::uint64_t> expected_bytes = std::nullopt,
             const RemoteFileOptions& options = {});
  ~RemoteFile();
  RemoteFile(const RemoteFile&) = delete;
  RemoteFile& operator=(const RemoteFile&) = delete;

  // Where it is.
  const std::string& path() const { return address_; }
  // Bytes it has.
  std::uint64_t size() const { return size_; }
  // Fills memory with the bytes from `offset` on; how many, fewer than asked only where the file ends. Throws DataLoss
  // when it is another file by now, Unavailable when it is out of reach.
  std::size_t read_at(std::uint64_t offset, void* target, std::size_t bytes) const;

 private:
  struct Connection;

  std::string address_;
  std::uint64_t size_ = 0;
  std::unique_ptr<Connection> connection_;
};

}  // namespace cohort
