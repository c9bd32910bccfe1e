// A file that a command writes.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::sim {

class OutputFile {
 public:
  // An empty path: nothing is wanted, and what is written goes nowhere. Errors: of the system.
  Status open(const std::string& path) {
    path_ = path;
    if (path.empty()) return {};
    file_.open(path, std::ios::binary | std::ios::trunc);
    if (!file_.is_open()) return sys_failure("write " + path);
    return {};
  }
  [[nodiscard]] bool wanted() const { return file_.is_open(); }
  void write(std::string_view text) {
    if (wanted()) file_ << text;
  }
  // Errors: of any write since, as of a full disk.
  Status close() {
    if (!wanted()) return {};
    file_.close();
    if (file_.fail())
      return failure(Errc::kUnavailable, "write " + path_ + ": not all was written");
    return {};
  }

 private:
  std::string path_;
  std::ofstream file_;
};

inline Status write_file(const std::string& path, std::string_view text) {
  OutputFile file;
  if (Status good = file.open(path); !good) return good;
  file.write(text);
  return file.close();
}

}  // namespace pinion::sim
