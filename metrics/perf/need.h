// How many descriptors counting takes, before the first one is opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pinion::metrics::perf {

// Descriptors for `containers`, each counted with `events` events on `cpus` CPUs: one for each
// event and CPU, and the container's directory.
std::uint64_t descriptor_need(std::uint64_t containers, std::uint64_t cpus, std::uint64_t events);

// What is missing when `need` descriptors are to be had besides `reserve` others, with the number
// to write where; not set when `hard`, the limit of this process, is enough.
std::optional<std::string> missing_descriptors(std::uint64_t need, std::uint64_t reserve,
                                               std::uint64_t hard);

}  // namespace pinion::metrics::perf
