#include "ctl/doctor/kubectl.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"

namespace pinion::ctl::doctor {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{256} << 20U;
constexpr std::size_t kMaxComplaint = 1000;

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
};

// Appends what is there; false at the end.
bool read_some(const Fd& from, std::string& text, std::size_t limit, bool& too_much) {
  std::array<char, 65536> part{};
  const ssize_t n = read(from.get(), part.data(), part.size());
  if (n < 0) return errno == EINTR;
  if (text.size() + static_cast<std::size_t>(n) > limit) {
    too_much = true;
    return n > 0;  // read on, so that it can end
  }
  text.append(part.data(), static_cast<std::size_t>(n));
  return n > 0;
}

Output collect(const Fd& out, const Fd& errors) {
  Output output;
  bool complaint_cut = false;
  std::array<pollfd, 2> both{pollfd{.fd = out.get(), .events = POLLIN, .revents = 0},
                             pollfd{.fd = errors.get(), .events = POLLIN, .revents = 0}};
  while (both[0].fd >= 0 || both[1].fd >= 0) {
    if (poll(both.data(), both.size(), -1) < 0 && errno != EINTR) break;
    if (both[0].fd >= 0 && both[0].revents != 0 &&
        !read_some(out, output.out, kMaxAnswer, output.too_much)) {
      both[0].fd = -1;
    }
    if (both[1].fd >= 0 && both[1].revents != 0 &&
        !read_some(errors, output.errors, kMaxComplaint, complaint_cut)) {
      both[1].fd = -1;
    }
  }
  return output;
}

Result<pid_t> start(const std::string& program, const std::vector<std::string>& arguments,
                    const Pipe& out, const Pipe& errors) {
  std::vector<std::string> words = {program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, errors.write.get(), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, program.c_str(), &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return sys_failure("run " + program, error);
  return child;
}

}  // namespace

Result<std::string> run_kubectl(const std::string& program,
                                const std::vector<std::string>& arguments) {
  auto out = make_pipe();
  auto errors = make_pipe();
  if (!out || !errors) return failure(out ? errors.error() : out.error());
  const auto child = start(program, arguments, *out, *errors);
  if (!child) return failure(child.error());
  out->write.reset();
  errors->write.reset();
  Output output = collect(out->read, errors->read);
  int status = 0;
  while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
  }
  if (output.too_much) return failure(Errc::kUnavailable, program + " answers more than 256 MiB");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(output.out);
  while (!output.errors.empty() && output.errors.back() == '\n') output.errors.pop_back();
  const bool forbidden = output.errors.find("Forbidden") != std::string::npos ||
                         output.errors.find("forbidden") != std::string::npos;
  return failure(forbidden ? Errc::kDenied : Errc::kUnavailable,
                 program + ": " + (output.errors.empty() ? "failed" : output.errors));
}

}  // namespace pinion::ctl::doctor
