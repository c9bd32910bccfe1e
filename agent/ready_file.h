// A file that says that all containers are known and where the agent is reached, for scripts and
// probes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/log.h"

namespace pinion::agent {

class ReadyFile {
 public:
  // Removes one that a kill -9 left. An empty path: there is to be none. The log must outlive it.
  ReadyFile(std::string path, std::vector<std::pair<std::string, std::string>> addresses, Log& log);
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile();  // removes it

  // Makes it, once, and whole: a reader never sees a part of it. Its lines: "ready", then
  // "NAME=ADDRESS" for each address.
  void make();

 private:
  std::string path_;
  std::vector<std::pair<std::string, std::string>> addresses_;
  Log& log_;
  bool made_ = false;
};

}  // namespace pinion::agent
