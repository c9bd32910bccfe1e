// A plugin program as a child process, and what the kernel says it uses.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::bench {

struct Memory {
  std::int64_t rss_kib = 0;        // VmRSS
  std::int64_t peak_kib = 0;       // VmHWM
  std::int64_t anonymous_kib = 0;  // RssAnon
  std::int64_t threads = 0;
};

struct Writes {
  std::int64_t calls =
      0;  // write system calls of any kind of file; send() and the like not counted
  std::int64_t bytes = 0;  // caused to be written to storage
};

class PluginProcess {
 public:
  // Starts program[0] with those arguments; its standard error goes to the end of `log`. The child
  // dies with this process.
  static Result<PluginProcess> start(const std::vector<std::string>& program,
                                     const std::string& log);
  PluginProcess(PluginProcess&& other) noexcept;
  PluginProcess& operator=(PluginProcess&&) = delete;
  ~PluginProcess();  // kills it if it still runs

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] double cpu_ms() const;  // of all its threads since its start; < 0: not running
  [[nodiscard]] Memory memory() const;
  [[nodiscard]] Writes writes() const;

  // SIGTERM, then up to 30 s of patience. Fine: exit status 0, or death by that very signal.
  Status end();

 private:
  explicit PluginProcess(pid_t pid) : pid_(pid) {}
  [[nodiscard]] std::int64_t number_in(const char* file, const std::string& key) const;

  pid_t pid_;
};

}  // namespace pinion::bench
