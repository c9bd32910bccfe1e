// A check in a process that it may spoil.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "base/fd.h"

namespace pinion::test_support {

// Runs `check` in a process of its own. Its answer is "" or a complaint.
inline std::string in_own_process(const std::function<std::string()>& check) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t pid = fork();
  if (pid == 0) {
    const std::string complaint = check();
    const bool told = write(ends[1], complaint.data(), complaint.size()) ==
                      static_cast<ssize_t>(complaint.size());
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  const Fd from(ends[0]);
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(from.get(), buffer, sizeof(buffer))) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return "the process died: " + answer;
  return answer;
}

}  // namespace pinion::test_support
