// An environment variable that has another value for a while. Not for a process with threads.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace pinion::topology {

class ScopedEnv {
 public:
  // `name` must live as long as this object.
  ScopedEnv(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ScopedEnv(const ScopedEnv&) = delete;
  ScopedEnv& operator=(const ScopedEnv&) = delete;
  ~ScopedEnv() {
    if (before_) {
      ::setenv(name_, before_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace pinion::topology
