#include "cluster/sim/swf_source.h"

#include <array>
#include <filesystem>
#include <iostream>

#include "cluster/sim/swf.h"

namespace pinion::sim {

Status SwfSource::open(const std::string& path) {
  const bool standard = path == "-";
  path_ = standard ? "standard input" : path;
  in_ = standard ? &std::cin : &file_;
  if (!standard) {
    if (Status good = open_file(); !good) return good;
  }
  const auto first = in_->peek();
  if (failed()) return sys_failure("read " + path_);
  // The first byte of a gzip'ed file.
  if (first != 0x1f) return {};
  return failure(Errc::kInvalid, path_ + " is compressed; try: zcat " + (standard ? "FILE" : path) +
                                     " | pinion-sim run --trace - ...");
}

bool SwfSource::failed() const {
  // The stream itself takes a failure of standard input for its end.
  return in_->bad() || (in_ == &std::cin && std::ferror(stdin) != 0);
}

Status SwfSource::open_file() {
  file_.open(path_, std::ios::binary);
  if (!file_.is_open()) return sys_failure("read " + path_);
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  size_ = error ? 0 : static_cast<std::int64_t>(size);
  return {};
}

Result<bool> SwfSource::read_line() {
  std::array<char, kMaxSwfLine + 2> part{};
  in_->getline(part.data(), part.size());
  const auto got = in_->gcount();
  bytes_ += got;
  if (failed()) return sys_failure("read " + path_);
  if (got == 0 && in_->eof()) return false;
  ++lines_;
  if (in_->fail() && !in_->eof()) {
    return failure(Errc::kInvalid, path_ + ": line " + std::to_string(lines_) + ": more than " +
                                       std::to_string(kMaxSwfLine) +
                                       " bytes; is this an SWF file?");
  }
  const auto end = static_cast<std::size_t>(got) - (in_->eof() ? 0 : 1);
  line_.assign(part.data(), end);
  return true;
}

Result<std::optional<Job>> SwfSource::next() {
  while (true) {
    const auto more = read_line();
    if (!more) return failure(more.error());
    if (!*more) return std::nullopt;
    bool skipped = false;
    auto job = parse_swf_line(line_, skipped);
    const auto where = [&] { return path_ + ": line " + std::to_string(lines_); };
    if (!job) return failure(std::move(job.error()).within(where()));
    if (skipped) ++skipped_;
    if (!*job) continue;
    if ((*job)->submit < last_) {
      return failure(Errc::kInvalid, where() +
                                         ": submitted before the job before it; sort the file by "
                                         "its second field, as 'sort -s -n -k2,2' does");
    }
    last_ = (*job)->submit;
    return job;
  }
}

double SwfSource::progress() const {
  return size_ == 0 ? -1 : static_cast<double>(bytes_) / static_cast<double>(size_);
}

}  // namespace pinion::sim
