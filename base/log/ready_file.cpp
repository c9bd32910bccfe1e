#include "base/log/ready_file.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace pinion {

ReadyFile::ReadyFile(std::string path, std::vector<std::pair<std::string, std::string>> addresses,
                     Log& log)
    : path_(std::move(path)), addresses_(std::move(addresses)), log_(log) {
  if (!path_.empty()) unlink(path_.c_str());
}

ReadyFile::~ReadyFile() {
  if (!path_.empty()) unlink(path_.c_str());
}

void ReadyFile::make(std::chrono::steady_clock::time_point now) {
  if (path_.empty() || now < next_) return;
  constexpr std::chrono::seconds pause{1};
  next_ = now + pause;
  if (made_ && access(path_.c_str(), F_OK) == 0) return;
  if (const Status written = write(); !written) {
    if (!std::exchange(failed_, true)) {
      log_.warn("cannot write the ready file, trying again", {{"why", written.error().text}});
    }
    return;
  }
  failed_ = false;
  if (std::exchange(made_, true)) {
    log_.warn("the ready file was gone, it is made again", {{"path", path_}});
  }
}

Status ReadyFile::write() const {
  const std::string part = path_ + ".part";
  std::ofstream file(part);
  file << "ready\n";
  for (const auto& [name, address] : addresses_) file << name << "=" << address << "\n";
  file.close();
  if (file && std::rename(part.c_str(), path_.c_str()) == 0) return {};
  Status failed = sys_failure("write " + path_);
  unlink(part.c_str());
  return failed;
}

}  // namespace pinion
