// A file that a command writes.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"

namespace pinion::sim {

// All of the new text or what was there before: until close() it is in a file of its own beside it,
// "PATH.XXXXXX". What is no regular file, as a pipe, is written to at once.
class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // "-" is standard output. An empty path: nothing is wanted, and what is written goes nowhere.
  // Errors: of the system.
  Status open(const std::string& path);
  [[nodiscard]] bool wanted() const { return standard_ || file_.valid(); }
  void write(std::string_view text);
  // Errors: of any write since, as of a full disk.
  Status close();

 private:
  static constexpr std::size_t kBuffer = 1 << 16;

  void write_waiting();

  bool standard_ = false;
  std::string path_;
  std::string fresh_;  // empty: written to at once
  Fd file_;
  std::string waiting_;
  Status written_;
};

Status write_file(const std::string& path, std::string_view text);

}  // namespace pinion::sim
