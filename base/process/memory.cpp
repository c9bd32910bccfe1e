#include "base/process/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace pinion {
namespace {

// Segments that nobody writes to hold nothing that their file does not hold. What the dynamic
// linker relocates and then protects lies in segments that are writable by their header.
int unmap_read_only(dl_phdr_info* object, std::size_t /*size*/, void* page_size) {
  const auto page = *static_cast<const std::uintptr_t*>(page_size);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uintptr_t first = begin / page * page;
    const std::uintptr_t last = (begin + segment.p_memsz) / page * page;
    // Without effect where it is refused.
    // NOLINTNEXTLINE(performance-no-int-to-ptr): addresses are numbers in ELF
    (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

std::uint64_t machine_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  return pages < 0 ? 0
                   : static_cast<std::uint64_t>(pages) *
                         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void give_back_memory() {
  malloc_trim(0);
  auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  dl_iterate_phdr(unmap_read_only, &page);
}

}  // namespace pinion
