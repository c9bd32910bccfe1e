// One agent on each node, and one beside each runtime: locks.
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

// The same for the directory of the runtime's NRI socket, in which nothing is written: two agents
// with different state directories would both set CPUs, and the runtime fails every creation then.
// An invalid descriptor where there is no such directory yet.
inline Result<Fd> lock_runtime(const std::string& nri_socket) {
  const std::string directory = std::filesystem::path(nri_socket).parent_path();
  Fd lock(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.valid() && (errno == ENOENT || errno == ENOTDIR)) return lock;
  if (!lock.valid()) return sys_failure("open " + directory);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return sys_failure("lock " + directory);
  return failure(Errc::kExhausted, "another pinion-agent serves the runtime at " + nri_socket +
                                       ": stop that one first");
}

}  // namespace pinion
