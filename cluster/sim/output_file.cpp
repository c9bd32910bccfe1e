#include "cluster/sim/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/cli/output.h"
#include "base/whole_file.h"

namespace pinion::sim {
namespace {

// As of a file that is created in the plain way.
mode_t usual_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::~OutputFile() {
  if (!fresh_.empty()) unlink(fresh_.c_str());
}

Status OutputFile::open(const std::string& path) {
  path_ = path;
  struct stat there = {};
  const bool exists = stat(path.c_str(), &there) == 0;
  // As /dev/stdout, which may be a regular file: one of the shell's.
  const auto open_as = [&](int fd) {
    struct stat it = {};
    return exists && fstat(fd, &it) == 0 && it.st_dev == there.st_dev && it.st_ino == there.st_ino;
  };
  standard_ = path == "-" || open_as(STDOUT_FILENO);
  if (path.empty() || standard_) return {};
  if (exists && (!S_ISREG(there.st_mode) || open_as(STDERR_FILENO))) {
    file_ = Fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    if (!file_.valid()) return sys_failure("write " + path);
    return {};
  }
  if (exists && access(path.c_str(), W_OK) != 0) return sys_failure("write " + path);
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(path, error);  // not a link to it
  if (!error) path_ = target;
  std::string fresh = path_ + ".XXXXXX";
  file_ = Fd(mkostemp(fresh.data(), O_CLOEXEC));
  if (!file_.valid()) return sys_failure("write " + path);
  fresh_ = fresh;
  // Not on every file system.
  static_cast<void>(fchmod(file_.get(), exists ? there.st_mode & 07777 : usual_mode()));
  return {};
}

void OutputFile::write(std::string_view text) {
  if (!wanted()) return;
  waiting_ += text;
  if (waiting_.size() >= kBuffer) write_waiting();
}

void OutputFile::write_waiting() {
  if (standard_ && written_) written_ = print(waiting_);
  if (!standard_ && written_ && !write_all(file_.get(), waiting_)) {
    written_ = sys_failure("write " + path_);
  }
  waiting_.clear();
}

Status OutputFile::close() {
  if (!wanted()) return {};
  write_waiting();
  if (standard_ || !written_) return written_;
  if (::close(file_.release()) != 0) return sys_failure("write " + path_);
  if (fresh_.empty()) return {};
  if (std::rename(fresh_.c_str(), path_.c_str()) != 0) return sys_failure("write " + path_);
  fresh_.clear();
  return {};
}

Status write_file(const std::string& path, std::string_view text) {
  OutputFile file;
  if (Status good = file.open(path); !good) return good;
  file.write(text);
  return file.close();
}

}  // namespace pinion::sim
