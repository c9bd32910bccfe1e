// One agent on each node: a lock in the state directory.
#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/fd.h"

namespace pinion {

// Takes the lock in the state directory, made when missing, for the life of the descriptor; the
// kernel gives it back however the process ends. Errors: kExhausted when another process holds it.
inline Result<Fd> lock_state_dir(const std::string& state_dir) {
  std::error_code error;
  std::filesystem::create_directories(state_dir, error);
  if (error) return sys_failure("make state directory " + state_dir, error.value());
  const std::string path = state_dir + "/agent.lock";
  Fd lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return sys_failure("open " + path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return sys_failure("lock " + path);
  return failure(Errc::kExhausted, "another pinion-agent runs on this node (it holds " + path +
                                       "): stop that one first");
}

}  // namespace pinion
