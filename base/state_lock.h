// One agent on each node, and one beside each runtime: locks.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace pinion {

// Locks what `fd` is of, for the descriptor's life. Errors: kExhausted with `taken` when another
// process holds it.
inline Status lock_alone(const Fd& fd, const std::string& path, const std::string& taken) {
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno != EWOULDBLOCK) return sys_failure("lock " + path);
  return failure(Errc::kExhausted, taken + ": stop that one first");
}

// Takes the lock in the state directory, made when missing, for the life of the descriptor; the
// kernel gives it back however the process ends. Errors: kExhausted when another process holds it.
inline Result<Fd> lock_state_dir(const std::string& state_dir) {
  std::error_code error;
  std::filesystem::create_directories(state_dir, error);
  if (error) return sys_failure("make state directory " + state_dir, error.value());
  const std::string path = state_dir + "/agent.lock";
  Fd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return sys_failure("open " + path);
  const Status alone =
      lock_alone(lock, path, "another pinion-agent runs on this node (it holds " + path + ")");
  if (!alone) return failure(alone.error());
  return lock;
}

// The same, held also where somebody removes the directory and all that is in it.
class StateLock {
 public:
  explicit StateLock(std::string state_dir) : state_dir_(std::move(state_dir)) {}

  // Takes it where it is not held yet, or where the directory or the file is gone: true then.
  // Errors: those of lock_state_dir(); what was held stays held.
  Result<bool> hold() {
    struct stat now {};
    struct stat held {};
    if (lock_.valid() && fstat(lock_.get(), &held) == 0 &&
        stat((state_dir_ + "/agent.lock").c_str(), &now) == 0 && now.st_dev == held.st_dev &&
        now.st_ino == held.st_ino) {
      return false;
    }
    auto lock = lock_state_dir(state_dir_);
    if (!lock) return failure(lock.error());
    lock_ = *std::move(lock);
    return true;
  }

 private:
  std::string state_dir_;
  Fd lock_;
};

// The same for the directory of the runtime's NRI socket, in which nothing is written: two agents
// with different state directories would both set CPUs, and the runtime fails every creation then.
class RuntimeLock {
 public:
  explicit RuntimeLock(const std::string& nri_socket) : socket_(nri_socket) {}

  [[nodiscard]] bool held() const { return lock_.valid(); }
  // Takes it, where it is not held yet or the directory has been made anew. Nothing is to be taken
  // where there is none: call it again before the first message to the runtime. Errors: kExhausted
  // when another process holds it.
  Status hold() {
    // Whichever of the socket's names it was given: of a link's directory there may be several.
    std::error_code broken;
    const auto real = std::filesystem::weakly_canonical(socket_, broken);
    const std::string directory =
        (broken ? std::filesystem::path(socket_) : real).parent_path().string();
    Fd lock(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!lock.valid() && (errno == ENOENT || errno == ENOTDIR)) return {};
    if (!lock.valid()) return sys_failure("open " + directory);
    struct stat now {};
    if (fstat(lock.get(), &now) != 0) return sys_failure("look at " + directory);
    if (lock_.valid() && now.st_dev == held_.st_dev && now.st_ino == held_.st_ino) return {};
    Status alone =
        lock_alone(lock, directory, "another pinion-agent serves the runtime at " + socket_);
    if (!alone) return alone;
    lock_ = std::move(lock);
    held_ = now;
    return {};
  }

 private:
  std::string socket_;
  Fd lock_;
  struct stat held_ {};
};

}  // namespace pinion
