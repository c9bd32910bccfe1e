#include "cluster/extender/http/thread_set.h"

#include <algorithm>
#include <utility>

namespace pinion::cluster {

ThreadSet::ThreadSet(std::size_t limit, std::size_t stack_bytes)
    : limit_(limit), stack_bytes_(stack_bytes) {}

ThreadSet::~ThreadSet() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return running_.empty(); });
  join_ended();
}

bool ThreadSet::run(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  join_ended();
  if (running_.size() >= limit_) return false;
  Worker& worker = running_.emplace_back();
  worker.set = this;
  worker.work = std::move(work);
  if (start(worker)) return true;
  running_.pop_back();
  return false;
}

bool ThreadSet::start(Worker& worker) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  const bool good = pthread_attr_setstacksize(&attributes, stack_bytes_) == 0 &&
                    pthread_create(&worker.thread, &attributes, &ThreadSet::main, &worker) == 0;
  pthread_attr_destroy(&attributes);
  return good;
}

void* ThreadSet::main(void* worker) {
  auto* self = static_cast<Worker*>(worker);
  self->work();
  self->work = nullptr;
  self->set->ended(self);
  return nullptr;
}

void ThreadSet::ended(Worker* worker) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [&](const Worker& one) { return &one == worker; });
  ended_.splice(ended_.end(), running_, at);
  changed_.notify_all();
}

// They have nothing left to do but to leave ended(), which takes the lock for no longer than that.
void ThreadSet::join_ended() {
  for (const Worker& worker : ended_) pthread_join(worker.thread, nullptr);
  ended_.clear();
}

std::size_t ThreadSet::running() const {
  const std::lock_guard lock(mutex_);
  return running_.size();
}

bool ThreadSet::wait_idle(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return running_.empty(); });
}

}  // namespace pinion::cluster
