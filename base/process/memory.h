// The resident memory of a daemon.
#pragma once

namespace pinion {

// Free heap goes back to the kernel, and of the program's and the libraries' files nothing is
// mapped any more but what is written to: most pages of them are there because the kernel maps 16
// for each that is read. What is read again comes back from the page cache. Breakpoints and
// uprobes that somebody has set in it are lost.
void give_back_memory();

}  // namespace pinion
