// What a slice's AllowedCPUs was before it was first changed here: an extended attribute of its
// group, so that it outlives the agent and goes with the group.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/engine/events.h"
#include "base/error.h"

namespace pinion::cgroup {

struct SliceRecord {
  engine::CpuSet original;
  engine::CpuSet before;  // the change that was recorded last: from
  engine::CpuSet after;   // ... to; the property is one of these two unless others have set it

  bool operator==(const SliceRecord&) const = default;

  [[nodiscard]] bool explains(const engine::CpuSet& property) const {
    return property == before || property == after;
  }
};

// The attribute's text: three CPU lists, one blank between them. Precondition: none is empty.
[[nodiscard]] std::string to_text(const SliceRecord& record);
// nullopt for anything else than three CPU lists that are not empty.
[[nodiscard]] std::optional<SliceRecord> parse_slice_record(std::string_view text);

// nullopt: there is none, or it makes no sense.
[[nodiscard]] std::optional<SliceRecord> read_slice_record(int group);
// Errors: of the system, as on a file system that has no such attributes.
[[nodiscard]] Status write_slice_record(int group, const SliceRecord& record);
void erase_slice_record(int group);

}  // namespace pinion::cgroup
