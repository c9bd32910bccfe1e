// What a simulation came to, for people and programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cluster/sim/figures.h"

namespace pinion::sim {

// Seconds without needless digits: "12", "0.25".
[[nodiscard]] std::string seconds_text(Ms ms);

// A table of two to five columns.
[[nodiscard]] std::string to_table(const Figures& figures);

// Times in seconds; `fragmentation` is null where processors are merely counted.
[[nodiscard]] nlohmann::ordered_json to_json(const Figures& figures);

// "8@0;4@60.5": the workers of an elastic job since a time; empty for others.
[[nodiscard]] std::string sizes_text(const JobRecord& record);

// "job,submit,start,end,..." and a line for each job (docs/simulator.md).
inline constexpr const char* kCsvHead =
    "job,submit,start,end,processors,requested,user,priority,workers,nodes,numa_nodes,kind,"
    "rescales,sizes\n";
// `numa_nodes`: in which its workers lie; -1: processors are merely counted.
[[nodiscard]] std::string csv_line(const JobRecord& record, int numa_nodes);

}  // namespace pinion::sim
