// An SWF file, read line by line.
#pragma once

#include <fstream>
#include <iosfwd>
#include <string>

#include "cluster/sim/job_source.h"

namespace pinion::sim {

class SwfSource : public JobSource {
 public:
  // "-" is standard input. Errors: of the system, naming the file; kInvalid for one that is
  // compressed.
  Status open(const std::string& path);

  // Errors besides those of parse_swf_line(): a job that was submitted before the one before it.
  Result<std::optional<Job>> next() override;
  [[nodiscard]] double progress() const override;
  [[nodiscard]] std::int64_t skipped() const override { return skipped_; }

 private:
  Status open_file();
  // Whether reading failed, and not just ended.
  [[nodiscard]] bool failed() const;
  // False: there are no more lines.
  Result<bool> read_line();

  std::ifstream file_;
  std::istream* in_ = nullptr;
  std::string path_;
  std::string line_;
  std::int64_t lines_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t size_ = 0;  // of the file; 0: not known
  std::int64_t skipped_ = 0;
  Ms last_ = 0;
};

}  // namespace pinion::sim
