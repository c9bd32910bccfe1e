#include "base/process/run_program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/fd.h"

namespace pinion {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostComplaint = 1000;

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return sys_failure("pipe");
  return Pipe{.read = Fd(ends[0]), .write = Fd(ends[1])};
}

struct Output {
  std::string out;
  std::string errors;
  bool too_much = false;
  bool too_long = false;
};

// Appends what is there; false at the end.
bool read_some(const Fd& from, std::string& text) {
  std::array<char, 65536> part{};
  const ssize_t n = read(from.get(), part.data(), part.size());
  if (n < 0) return errno == EINTR;
  text.append(part.data(), static_cast<std::size_t>(n));
  return n > 0;
}

// Until both are closed or the time is over.
Output collect(const Fd& out, const Fd& errors, const RunLimits& limits) {
  const auto begin = Clock::now();
  Output output;
  std::array<pollfd, 2> both{pollfd{.fd = out.get(), .events = POLLIN, .revents = 0},
                             pollfd{.fd = errors.get(), .events = POLLIN, .revents = 0}};
  while (both[0].fd >= 0 || both[1].fd >= 0) {
    int wait_ms = -1;
    if (limits.time) {
      const auto left = *limits.time - (Clock::now() - begin);
      output.too_long = left <= Clock::duration::zero();
      if (output.too_long) return output;
      wait_ms =
          static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(left).count()) + 1;
    }
    if (poll(both.data(), both.size(), wait_ms) < 0 && errno != EINTR) break;
    if (both[0].fd >= 0 && both[0].revents != 0 && !read_some(out, output.out)) both[0].fd = -1;
    if (output.out.size() > limits.out_bytes) {
      output.too_much = true;
      output.out.clear();  // read on, so that it can end
    }
    if (both[1].fd >= 0 && both[1].revents != 0 && !read_some(errors, output.errors)) {
      both[1].fd = -1;
    }
    if (output.errors.size() > kMostComplaint) {
      output.errors.erase(0, output.errors.size() - kMostComplaint);
    }
  }
  return output;
}

Result<pid_t> start(std::vector<std::string>& words, const Pipe& out, const Pipe& errors,
                    bool apart) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (apart) posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.write.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  if (apart) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv.front(), &files, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return sys_failure("run " + words.front(), error);
  return child;
}

}  // namespace

Result<RunEnd> run_program(std::vector<std::string> argv, const RunLimits& limits) {
  auto out = make_pipe();
  auto errors = make_pipe();
  if (!out || !errors) return failure(out ? errors.error() : out.error());
  const auto child = start(argv, *out, *errors, limits.time.has_value());
  if (!child) return failure(child.error());
  out->write.reset();
  errors->write.reset();
  Output output = collect(out->read, errors->read, limits);
  if (output.too_long) kill(-*child, SIGKILL);
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (output.too_long) {
    return failure(Errc::kUnavailable, argv.front() + " did not end in " +
                                           std::to_string(limits.time->count()) + " ms");
  }
  if (output.too_much) {
    return failure(Errc::kUnavailable, argv.front() + " answers more than " +
                                           std::to_string(limits.out_bytes >> 20U) + " MiB");
  }
  while (!output.errors.empty() && output.errors.back() == '\n') output.errors.pop_back();
  return RunEnd{.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                .out = std::move(output.out),
                .errors = std::move(output.errors)};
}

}  // namespace pinion
