#pragma once

#include <memory>
#include <string>

namespace cohort::distribute::rpc::test {

// The caller's side of TLS 1.3 with a key both know, all by OpenSSL: what says whether ours are the records of TLS. Its
// socket never blocks.
class TlsCaller {
 public:
  TlsCaller(int socket, const std::string& key);
  ~TlsCaller();
  TlsCaller(const TlsCaller&) = delete;

  bool greet();
  // Whether all of it was sent.
  bool say(const std::string& bytes);
  // What has come.
  std::string hear();
  // What it says from now on is encrypted by the next key.
  bool take_next_key();
  // How many bytes each record has, padded to it, from now on.
  void pad(std::size_t bytes);
  // The end, in TLS's own words.
  void say_goodbye();

 private:
  class Body;
  const std::unique_ptr<Body> body_;
};

}  // namespace cohort::distribute::rpc::test
