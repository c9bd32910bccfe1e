// Log lines about one container.
#pragma once

#include "agent/engine/fence.h"

namespace pinion::engine {

inline constexpr std::string_view kRefused = "refused";  // begins a line of the log

inline Note note(Note::Level level, std::string text, const Member& member) {
  return {.level = level,
          .text = std::move(text),
          .fields = {{"pod", member.name_space + "/" + member.pod_name},
                     {"container", member.name},
                     {"id", member.id.substr(0, 12)}}};
}

}  // namespace pinion::engine
