#include "cohort/distribute/coordinator/member_watch.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "cohort/core/log.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;

// Where the call cannot be cancelled it is to end soon by itself.
constexpr std::chrono::milliseconds kWait = 1000ms, kWaitInProcess = 50ms, kBetweenLooksIntoBook = 200ms,
                                    kAtOnce = 20ms;

}  // namespace

MemberWatch::MemberWatch(rpc::Peer keeper, rpc::TransportOptions options, std::uint64_t known,
                         std::function<void(const MemberList&)> changed)
    : keeper_(std::move(keeper)),
      options_(std::move(options)),
      changed_(std::move(changed)),
      known_(known),
      thread_([this] { run(); }) {}

MemberWatch::~MemberWatch() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (stream_) stream_->cancel();
  }
  stop_.notify_all();
  thread_.join();
}

MemberList MemberWatch::ask() {
  std::shared_ptr<rpc::Stream> stream = stream_;
  if (!stream) {
    connection_ = rpc::connect(keeper_, options_);
    stream = connection_->open();
    std::lock_guard lock(mutex_);
    if (stopping_) return {.generation = known_};
    stream_ = stream;
  }
  const bool in_process = connection_->transport() == std::string_view("in process");
  return ask_members(*stream, known_, in_process ? kWaitInProcess : kWait);
}

void MemberWatch::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const auto asked = std::chrono::steady_clock::now();
    bool news = false;
    try {
      const MemberList list = ask();
      news = list.generation != known_;
      if (news) changed_(list);
      known_ = list.generation;
    } catch (const std::exception& error) {
      log::debug("The book of members cannot be read: " + std::string(error.what()));
      std::lock_guard let_go(mutex_);
      stream_.reset();
    }
    lock.lock();
    const bool waited = std::chrono::steady_clock::now() - asked > kAtOnce;
    if (!news && !waited) stop_.wait_for(lock, kBetweenLooksIntoBook, [this] { return stopping_; });
  }
}

}  // namespace cohort::distribute
