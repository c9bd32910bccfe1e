#include "tests/integration/exercise.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <array>
#include <cstdio>

#include "tests/lab/process.h"

namespace pinion::integration {
namespace {

constexpr Milliseconds kAnswer{30000};

}  // namespace

Result<Exercise> Exercise::prepare(const lab::ContainerdLab& node, lab::PodSpec& spec) {
  const std::string folder = node.dir() + "/exercise-" + spec.name;
  if (::mkdir(folder.c_str(), 0700) != 0) return sys_failure("mkdir " + folder);
  std::array<Fd, 2> pipes;
  const std::array names = {"in", "out"};
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    const std::string path = folder + "/" + names[i];
    if (::mkfifo(path.c_str(), 0600) != 0) return sys_failure("mkfifo " + path);
    // Both ways, so that neither side waits for the other to open it.
    pipes[i] = Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!pipes[i].valid()) return sys_failure("open " + path);
  }
  lab::ContainerSpec& container = spec.containers.front();
  container.command = {"/program", "/exercise"};
  container.mounts = {{.host = lab::program_folder() + "/pinion-exercise", .container = "/program"},
                      {.host = folder, .container = "/exercise", .read_only = false}};
  return Exercise(std::move(pipes[0]), std::move(pipes[1]));
}

Result<Exercise::Did> Exercise::tell(const std::string& command) const {
  const std::string line = command + "\n";
  if (::write(in_.get(), line.data(), line.size()) < 0) return sys_failure("tell " + command);
  std::string answer;
  while (answer.find('\n') == std::string::npos) {
    pollfd wait{.fd = out_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&wait, 1, static_cast<int>(lab::patient(kAnswer).count())) != 1) {
      return failure(Errc::kUnavailable, "no answer to '" + command + "'");
    }
    std::array<char, 64> text{};
    const ssize_t count = ::read(out_.get(), text.data(), text.size());
    if (count <= 0) return sys_failure("read the answer to " + command);
    answer.append(text.data(), static_cast<std::size_t>(count));
  }
  Did did;
  if (std::sscanf(answer.c_str(), "done %ld %ld %ld", &did.voluntary, &did.involuntary,
                  &did.moves) != 3) {
    return failure(Errc::kInvalid, command + ": " + answer);
  }
  return did;
}

}  // namespace pinion::integration
