#include "tests/page/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "base/fd.h"
#include "tests/support/tree.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX declares it nowhere

namespace pinion::page_test {
namespace {

namespace fs = std::filesystem;

constexpr int kLimitMs = 180'000;
constexpr std::size_t kLastWords = 600;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Everything that the browser writes stays in `home`; nothing is asked of the network.
std::vector<std::string> arguments(const std::string& browser, const std::string& url,
                                   const View& view, const fs::path& home) {
  std::vector<std::string> all = {
      browser,
      "--headless=new",
      "--no-sandbox",  // Chromium's own does not run as root, as tests in a container do
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-extensions",
      "--disable-background-networking",
      "--disable-component-update",
      "--no-first-run",
      "--hide-scrollbars",
      "--user-data-dir=" + (home / "profile").string(),
      "--window-size=" + std::to_string(view.width) + "," + std::to_string(view.height),
      "--virtual-time-budget=" + std::to_string(view.virtual_ms),
      "--dump-dom"};
  if (view.dark) all.emplace_back("--force-dark-mode");
  if (!view.screenshot.empty()) all.push_back("--screenshot=" + view.screenshot);
  all.push_back(url);
  return all;
}

std::vector<std::string> environment(const fs::path& home) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string key = text.substr(0, text.find('='));
    const bool replaced =
        key == "HOME" || key == "TMPDIR" || key == "XDG_CONFIG_HOME" || key == "XDG_CACHE_HOME";
    if (!replaced) all.push_back(text);
  }
  for (const char* key : {"HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}) {
    all.push_back(std::string(key) + "=" + home.string());
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

Result<pid_t> spawn(std::vector<std::string> argv, std::vector<std::string> env,
                    const std::string& output, const std::string& errors) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&files, 1, output.c_str(), kWrite, 0600);
  ::posix_spawn_file_actions_addopen(&files, 2, errors.c_str(), kWrite, 0600);
  // A process group of its own, so that its helpers can be ended with it.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, argv[0].c_str(), &files, &attributes,
                                   pointers(argv).data(), pointers(env).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) return sys_failure("start " + argv[0], error);
  return pid;
}

// The exit status, or -1 when it had to be ended.
int wait_for(pid_t pid) {
  const Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  const bool in_time = pidfd.valid() && ::poll(&ended, 1, kLimitMs) == 1;
  ::kill(-pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!in_time) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string find_browser() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    for (const char* name : {"chromium", "chromium-browser"}) {
      const std::string file = (fs::path(folder) / name).string();
      if (::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  return {};
}

Result<std::string> open_page(const std::string& url, const View& view) {
  const std::string browser = find_browser();
  if (browser.empty()) return failure(Errc::kNotFound, "no chromium in PATH");
  const test_support::TempDir home;
  const fs::path output = home.path() / "output";
  const fs::path errors = home.path() / "errors";
  const auto pid = spawn(arguments(browser, url, view, home.path()), environment(home.path()),
                         output.string(), errors.string());
  if (!pid) return failure(pid.error());
  const int status = wait_for(*pid);
  if (status == -1) return failure(Errc::kUnavailable, "chromium did not end in three minutes");
  if (status != 0) {
    std::string words = contents(errors);
    if (words.size() > kLastWords) words.erase(0, words.size() - kLastWords);
    return failure(Errc::kInternal, "chromium: status " + std::to_string(status) + ": " + words);
  }
  return contents(output);
}

}  // namespace pinion::page_test
