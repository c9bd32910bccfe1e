// The terminal of a live view: raw mode, size, keys, and signals as events instead of interrupts.
#pragma once

#include <termios.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace pinion::ctl {

// Signals that are waited for. Blocked in the calling thread and in all that it starts afterwards,
// so it is made before them; unblocked again at the end.
class Signals {
 public:
  // Errors: those of signalfd(2).
  static Result<Signals> watch(std::initializer_list<int> signals);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next one that came, or 0.
  [[nodiscard]] int take() const;

 private:
  explicit Signals(Fd fd) : fd_(std::move(fd)) {}

  Fd fd_;
};

// What ended a wait. All empty: the time was up.
struct Wake {
  int signal = 0;
  std::string keys;         // as typed
  bool input_over = false;  // nothing more can be typed
};

// Until a signal or a key comes or the deadline is reached; `input` -1: no keys.
Wake wait_until(std::chrono::steady_clock::time_point deadline, const Signals& signals, int input);

struct TerminalSize {
  std::size_t width = 80;
  std::size_t height = 24;
};
// Of the terminal behind the descriptor; 80 x 24 where there is none or it does not say.
TerminalSize terminal_size(int fd);

// Whether to colour: `--color always|never`, else on a terminal that is not "dumb", unless NO_COLOR
// is set to anything (no-color.org).
bool wants_color(std::string_view choice, int fd);

// Keys come one by one and unseen, the page is the alternate screen. Left in the destructor, too.
class LiveScreen {
 public:
  // Precondition: both are terminals.
  LiveScreen(int input, int output) : input_(input), output_(output) {}
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;
  ~LiveScreen() { leave(); }

  Status enter();
  void leave();
  // Shows the text (lines that fit) in place of what was there.
  Status show(const std::string& text) const;

 private:
  int input_;
  int output_;
  bool entered_ = false;
  termios before_{};
};

}  // namespace pinion::ctl
