// A recording: one snapshot on each line, as protobuf writes JSON with the names of the .proto
// file (64-bit numbers are strings there), and one key beside its fields: "unix_ms", a number.
// `node.machine` stands only where it differs from the line before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "ctl/source/node_source.h"

namespace pinion::ctl {

inline constexpr std::size_t kMaxLine = std::size_t{64} << 20;   // bytes
inline constexpr std::int64_t kMaxUnixMs = 253'402'300'799'999;  // the end of the year 9999

// One line with its newline. Error: kInternal where protobuf refuses (text that is not UTF-8).
Result<std::string> recorded_line(const Moment& moment);

// The opposite of it. Unknown keys are skipped, so that older programs read newer recordings.
// Error: kInvalid, also for a time that is before 1970 or after kMaxUnixMs.
Result<Moment> parse_recorded(std::string_view line);

// Turns snapshots into lines, leaving out the machine where it is what it was.
class RecordingWriter {
 public:
  // Error: as recorded_line().
  Result<std::string> line_of(Moment moment);

 private:
  std::string machine_;  // the last one, serialized
};

// Reads a recording line by line; one line is in memory at a time. Blank lines are skipped.
class Recording final : public NodeSource {
 public:
  // Errors: those of opening the file.
  static Result<std::unique_ptr<Recording>> open(const std::string& path);

  // Errors: kInvalid, "FILE: line N: ..." for one that is no snapshot or is too long; those of
  // reading.
  Result<std::optional<Moment>> next() override;
  [[nodiscard]] bool live() const override { return false; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  Recording(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  // False at the end of the file.
  Result<bool> read_line(std::string& line);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::size_t line_number_ = 0;
  pinion::v1::Machine machine_;  // the last one that was written out
};

}  // namespace pinion::ctl
