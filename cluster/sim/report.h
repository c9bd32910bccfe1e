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

// "job,submit,start,end,..." and a line for each job. `sizes` of an elastic job: "8@0;4@60.5", its
// workers since a time; its `processors` are those of its workers at its end.
inline constexpr const char* kCsvHead =
    "job,submit,start,end,processors,requested,user,priority,workers,nodes,numa_nodes,kind,"
    "rescales,sizes\n";
// `numa_nodes`: in which its workers lie, each one's counted; -1: processors are merely counted.
[[nodiscard]] std::string csv_line(const JobRecord& record, int numa_nodes);

}  // namespace pinion::sim
