// Files as whole texts: the kernel's, which exist, and our own, which is replaced at once.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace pinion::noise {

// Errors: of the system, with the path; kInvalid where the file is longer than `limit` bytes.
Result<std::string> read_text(const std::string& path, std::size_t limit);

// One write to a file that exists: the kernel takes or refuses the text as a whole.
Status write_text(const std::string& path, const std::string& text);

// All of the new text or all of the old one, whatever ends the process meanwhile; where `synced`,
// also when the machine loses power, which may wait for a disk. Its directory exists.
Status replace_text(const std::string& path, const std::string& text, bool synced = true);

}  // namespace pinion::noise
