// The memory of the machine, and a daemon's own.
#pragma once

#include <cstdint>

namespace pinion {

// Bytes: MemTotal of /proc/meminfo, of which the kubelet makes the node's capacity. What the NUMA
// nodes state may add up to less.
[[nodiscard]] std::uint64_t machine_memory();

// Free heap goes back to the kernel, and of the program's and the libraries' files nothing is
// mapped any more but what is written to: most pages of them are there because the kernel maps 16
// for each that is read. What is read again comes back from the page cache. Breakpoints and
// uprobes that somebody has set in it are lost.
void give_back_memory();

}  // namespace pinion
