// A file that a command writes.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include "base/cli/output.h"
#include "base/error.h"

namespace pinion::sim {

class OutputFile {
 public:
  // "-" is standard output. An empty path: nothing is wanted, and what is written goes nowhere.
  // Errors: of the system.
  Status open(const std::string& path) {
    path_ = path;
    if (path.empty() || standard()) return {};
    file_.open(path, std::ios::binary | std::ios::trunc);
    if (!file_.is_open()) return sys_failure("write " + path);
    return {};
  }
  [[nodiscard]] bool wanted() const { return standard() || file_.is_open(); }
  void write(std::string_view text) {
    if (!standard()) {
      if (wanted()) file_ << text;
      return;
    }
    waiting_ += text;
    if (waiting_.size() >= kBuffer) print_waiting();
  }
  // Errors: of any write since, as of a full disk.
  Status close() {
    if (!wanted()) return {};
    if (standard()) {
      print_waiting();
      return printed_;
    }
    file_.close();
    if (file_.fail())
      return failure(Errc::kUnavailable, "write " + path_ + ": not all was written");
    return {};
  }

 private:
  static constexpr std::size_t kBuffer = 1 << 16;

  [[nodiscard]] bool standard() const { return path_ == "-"; }
  void print_waiting() {
    if (printed_) printed_ = print(waiting_);
    waiting_.clear();
  }

  std::string path_;
  std::ofstream file_;
  std::string waiting_;  // for standard output
  Status printed_;
};

inline Status write_file(const std::string& path, std::string_view text) {
  OutputFile file;
  if (Status good = file.open(path); !good) return good;
  file.write(text);
  return file.close();
}

}  // namespace pinion::sim
