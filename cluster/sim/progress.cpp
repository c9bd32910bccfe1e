#include "cluster/sim/progress.h"

#include <unistd.h>

#include <cstdio>

namespace pinion::sim {
namespace {

constexpr int kEvents = 256;  // between looks at the clock
constexpr std::chrono::milliseconds kPause{200};
constexpr int kBar = 30;

}  // namespace

Progress::Progress(const JobSource& source)
    : source_(source), shown_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_ && said_ != began_) std::fputs("\r\033[K", stderr);
}

void Progress::step() {
  if (!shown_ || ++steps_ < kEvents) return;
  steps_ = 0;
  const auto now = Clock::now();
  if (now - said_ < kPause) return;
  said_ = now;
  const double done = source_.progress();
  const double spent = std::chrono::duration<double>(now - began_).count();
  if (done <= 0) {
    std::fprintf(stderr, "\r\033[K%.0f s", spent);
    return;
  }
  const int full = static_cast<int>(done * kBar);
  std::fprintf(stderr, "\r\033[K[%.*s%*s] %3.0f %%, %.0f s left", full,
               "##############################", kBar - full, "", 100 * done,
               spent / done * (1 - done));
}

}  // namespace pinion::sim
