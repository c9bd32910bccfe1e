// A file that says that all containers are known and where the agent is reached, for scripts and
// probes.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log/log.h"

namespace pinion {

class ReadyFile {
 public:
  // Removes one that a kill -9 left. An empty path: there is to be none. The log must outlive it.
  ReadyFile(std::string path, std::vector<std::pair<std::string, std::string>> addresses, Log& log);
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();  // removes it

  // Makes it, and whole: a reader never sees a part of it. Its lines: "ready", then "NAME=ADDRESS"
  // for each address. Where that fails, as on a full disk, the first call a second later tries
  // again; so does one that finds it gone, which is looked for once a second.
  void make(std::chrono::steady_clock::time_point now);

 private:
  std::string path_;
  std::vector<std::pair<std::string, std::string>> addresses_;
  Log& log_;
  [[nodiscard]] Status write() const;

  bool made_ = false;  // once
  bool failed_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace pinion
