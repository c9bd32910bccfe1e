#include "agent/cgroup/slice_thread.h"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <utility>

namespace pinion::cgroup {

SliceThread::~SliceThread() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status SliceThread::start() {
  if (thread_.joinable()) return {};
  news_fd_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!news_fd_.valid()) return sys_failure("make eventfd");
  thread_ = std::thread(&SliceThread::run, this);
  return {};
}

Status SliceThread::bring(int group, const std::string& unit, SliceTarget target) {
  if (auto started = start(); !started) return started;
  Fd own(fcntl(group, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) return sys_failure("keep the group open");
  push({.unit = unit, .group = std::move(own), .target = std::move(target), .hierarchy = {}});
  return {};
}

Status SliceThread::widen_narrowed(const Hierarchy& hierarchy) {
  if (auto started = start(); !started) return started;
  push({.unit = {}, .group = {}, .target = {}, .hierarchy = hierarchy});
  return {};
}

void SliceThread::push(Job job) {
  {
    const std::scoped_lock lock(mutex_);
    const auto same = [&](const Job& other) { return other.unit == job.unit; };
    const auto waiting = std::find_if(jobs_.begin(), jobs_.end(), same);
    if (waiting != jobs_.end()) {
      *waiting = std::move(job);
    } else {
      jobs_.push_back(std::move(job));
    }
  }
  wake_.notify_one();
}

bool SliceThread::at_work_on(const std::string& unit) const {
  const std::scoped_lock lock(mutex_);
  const auto same = [&](const Job& job) { return job.unit == unit; };
  return current_ == unit || std::any_of(jobs_.begin(), jobs_.end(), same);
}

bool SliceThread::quiet() const {
  const std::scoped_lock lock(mutex_);
  return jobs_.empty() && !busy_ && news_.slices.empty() && !news_.widened;
}

SliceThread::News SliceThread::take_news() {
  const std::scoped_lock lock(mutex_);
  eventfd_t count = 0;
  if (news_fd_.valid()) (void)eventfd_read(news_fd_.get(), &count);
  return std::exchange(news_, {});
}

void SliceThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    current_ = job.unit;
    busy_ = true;
    lock.unlock();
    News::Slice done{.unit = job.unit, .answer = {}};
    std::optional<Widened> widened;
    if (job.unit.empty()) {
      widened = cgroup::widen_narrowed(job.hierarchy, properties_);
    } else {
      done.answer = properties_.bring(job.group.get(), job.unit, job.target);
    }
    lock.lock();
    current_.clear();
    busy_ = false;
    if (widened) {
      news_.widened = std::move(widened);
    } else {
      news_.slices.push_back(std::move(done));
    }
    eventfd_write(news_fd_.get(), 1);
  }
}

}  // namespace pinion::cgroup
