#include "agent/noise_thread.h"

#include <pthread.h>

#include <memory>
#include <utility>

#include "base/words.h"

namespace pinion::agent {
NoiseThread::NoiseThread(noise::KernelNoise& noise, Published<NodeView>& views,
                         Published<noise::Figures>& figures, Log& log,
                         std::chrono::milliseconds interval)
    : noise_(noise),
      views_(views),
      figures_(figures),
      log_(log),
      interval_(interval),
      subscription_(views.subscribe([this] {
        {
          const std::lock_guard lock(mutex_);
          news_ = true;
        }
        wake_.notify_one();
      })),
      thread_([this] { run(); }) {}

NoiseThread::~NoiseThread() {
  subscription_.reset();
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  follow(false);
}

void NoiseThread::run() {
  pthread_setname_np(pthread_self(), "noise");
  figures_.publish(std::make_shared<const noise::Figures>());
  using Clock = std::chrono::steady_clock;
  Clock::time_point next_look;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    news_ = false;
    lock.unlock();
    const bool look = Clock::now() >= next_look;
    const bool again = follow(look);
    if (look) next_look = Clock::now() + interval_;
    lock.lock();
    const auto woken = [this] { return stop_ || news_; };
    if (again) {
      wake_.wait_until(lock, next_look, woken);
    } else {
      wake_.wait(lock, woken);
    }
  }
}

bool NoiseThread::follow(bool look) {
  const auto view = views_.get();
  if (!view || !view->synchronized) return false;
  const topology::CpuSet exclusive = view->ledger.exclusive();
  if ((look && noise_.holds()) || applied_ != exclusive) {
    const noise::Pass pass = noise_.apply(exclusive);
    figures_.publish(std::make_shared<const noise::Figures>(pass.figures));
    tell(pass, exclusive);
    applied_ = exclusive;
  }
  return noise_.holds();
}

void NoiseThread::tell(const noise::Pass& pass, const topology::CpuSet& exclusive) {
  if (applied_ != exclusive && !exclusive.empty()) {
    const bool first = !applied_ || applied_->empty();
    if (first && !told_irqbalance_ && noise_.irqbalance_runs()) {
      told_irqbalance_ = true;
      log_.warn(
          "irqbalance runs and will move interrupts back again and again: tell it the CPUs "
          "that it must leave alone (IRQBALANCE_BANNED_CPULIST), or stop it");
    }
    log_.info("kernel noise is kept off exclusive CPUs",
              {{"cpus", exclusive.to_string()},
               {"irqs_moved", std::to_string(pass.figures.irqs_moved)},
               {"irqs_kept_by_kernel", std::to_string(pass.kept.size())},
               {"kept_irqs", joined(pass.kept, ",")}});
  }
  if (exclusive.empty()) tell_restored(pass, log_);
  if (pass.figures.corrections > corrections_ && corrections_ == 0) {
    log_.warn("somebody else has put kernel noise back on exclusive CPUs, corrected",
              {{"what", joined(pass.written, ",")}});
  }
  corrections_ = pass.figures.corrections;
  std::string failure = pass.failed.empty() ? "" : pass.failed.front();
  if (failure != told_failure_ && !failure.empty()) {
    log_.warn("kernel noise: not done, tried again",
              {{"why", failure}, {"errors", std::to_string(pass.failed.size())}});
  }
  told_failure_ = std::move(failure);
}

void tell_restored(const noise::Pass& pass, Log& log) {
  if (pass.written.empty()) return;
  log.info("kernel noise is as it was before", {{"restored", std::to_string(pass.written.size())}});
}

}  // namespace pinion::agent
