// The cores that pods keep or lend, as the text of a file in the state directory. They would be
// lost where the agent is restarted between two attempts of a container, or while they are lent.
//
//   pinion-kept-cores 2
//   4f1d02... 2-5 4 1073741824 0 main
//   end
//
// A line has the pod's sandbox, the CPUs, how many of them it asks for (1 or more), the memory
// limit in bytes, the size of a part (see engine/state.h), and the container's name, which may be
// empty.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/kept_cores.h"
#include "base/error.h"

namespace pinion::agent {

inline constexpr const char* kKeptFile = "kept-cores";  // in the agent's state directory

// What no line can hold is left out.
[[nodiscard]] std::string encode(const std::vector<engine::KeptCores>& kept);

// Errors: kInvalid with the line, for text that encode() cannot have written.
[[nodiscard]] Result<std::vector<engine::KeptCores>> decode(std::string_view text);

// Nothing where there is no such file. Errors: as decode(), and of the system.
[[nodiscard]] Result<std::vector<engine::KeptCores>> load_kept(const std::string& path);

// All of the new text or all of the old one, whatever ends the agent meanwhile; where nothing is
// kept, no file. Errors: of the system; the old text, which is wrong by now, is taken away then.
[[nodiscard]] Status save_kept(const std::string& path, const std::vector<engine::KeptCores>& kept);

}  // namespace pinion::agent
