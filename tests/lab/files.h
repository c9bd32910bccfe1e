// Small files whole, and waiting for a condition.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"

namespace pinion::lab {

using Milliseconds = std::chrono::milliseconds;

// Errors: as of open, read and write, with the path.
Result<std::string> read_file(const std::string& path);
Status write_file(const std::string& path, const std::string& text);  // makes or truncates it
// One write to a file that must exist: how cgroup files are set.
Status write_existing(const std::string& path, const std::string& text);

// The last `lines` lines of a file, "" when it cannot be read: for messages about a failure.
std::string tail_of(const std::string& path, int lines);

// A limit of the lab's as it is on this machine: $PINION_PATIENCE times as long where that is set,
// because an emulated machine is slower, or below 1 where a test shall fail soon. All waits of the
// lab go through it.
Milliseconds patient(Milliseconds limit);

// Asks `condition` every few milliseconds until it holds or patient(limit) has passed; says which.
bool eventually(Milliseconds limit, const std::function<bool()>& condition);

// The folder that the running program lies in.
std::string program_folder();

}  // namespace pinion::lab
