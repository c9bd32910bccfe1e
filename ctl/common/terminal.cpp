#include "ctl/common/terminal.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/whole_file.h"

namespace pinion::ctl {
namespace {

constexpr std::string_view kEnterPage = "\x1b[?1049h\x1b[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeavePage = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kClearLine = "\x1b[2K";  // before its text: behind it, in the last
                                                    // column, it would take a character away
constexpr std::string_view kRestOfPage = "\x1b[J";

bool is_dumb_terminal() {
  const char* type = std::getenv("TERM");
  return type == nullptr || std::string_view(type) == "dumb";
}

}  // namespace

Result<Signals> Signals::watch(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  if (const int error = pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    return sys_failure("block signals", error);
  }
  Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return sys_failure("signalfd");
  return Signals(std::move(fd));
}

int Signals::take() const {
  signalfd_siginfo info{};
  const bool read = ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info);
  return read ? static_cast<int>(info.ssi_signo) : 0;
}

Wake wait_until(std::chrono::steady_clock::time_point deadline, const Signals& signals, int input) {
  using std::chrono::milliseconds;
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    const int timeout = static_cast<int>(std::clamp<milliseconds::rep>(left.count(), 0, 1 << 30));
    std::array<pollfd, 2> polled = {pollfd{signals.fd(), POLLIN, 0}, pollfd{input, POLLIN, 0}};
    const int ready = ::poll(polled.data(), polled.size(), timeout);
    if (ready < 0 && errno == EINTR) continue;
    Wake wake;
    if (ready <= 0) return wake;
    if (polled[0].revents != 0) wake.signal = signals.take();
    if (polled[1].revents != 0) {
      std::array<char, 64> typed{};
      const ssize_t got = ::read(input, typed.data(), typed.size());
      if (got > 0) wake.keys.assign(typed.data(), static_cast<std::size_t>(got));
      wake.input_over = got <= 0;
    }
    return wake;
  }
}

TerminalSize terminal_size(int fd) {
  winsize size{};
  TerminalSize result;
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return result;
  if (size.ws_col > 0) result.width = size.ws_col;
  if (size.ws_row > 0) result.height = size.ws_row;
  return result;
}

bool wants_color(std::string_view choice, int fd) {
  if (choice != "auto") return choice == "always";
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  return ::isatty(fd) == 1 && !is_dumb_terminal();
}

Status LiveScreen::enter() {
  if (::tcgetattr(input_, &before_) != 0) return sys_failure("read the terminal's mode");
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // signals by keys stay as they are
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(input_, TCSANOW, &raw) != 0) return sys_failure("set the terminal's mode");
  entered_ = true;
  if (!write_all(output_, kEnterPage)) return sys_failure("write to the terminal");
  return {};
}

void LiveScreen::leave() {
  if (!entered_) return;
  entered_ = false;
  static_cast<void>(write_all(output_, kLeavePage));
  ::tcsetattr(input_, TCSADRAIN, &before_);
}

Status LiveScreen::show(const std::string& text) const {
  std::string page(kHome);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (from > 0) page += "\r\n";
    page += kClearLine;
    page += text.substr(from, end - from);
    from = end + 1;
  }
  page += kRestOfPage;
  if (!write_all(output_, page)) return sys_failure("write to the terminal");
  return {};
}

}  // namespace pinion::ctl
