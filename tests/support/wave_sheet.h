// What examples/elastic-wave leaves in its checkpoint, and what that is to be: computed in one
// process, without MPI.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pinion::test_support {

struct WaveSheet {
  std::int64_t step = 0;
  std::vector<double> before, now;  // by rows

  bool operator==(const WaveSheet&) const = default;
};

// Of a sheet of so many points each way; nothing where the file is none.
std::optional<WaveSheet> read_wave(const std::string& file, int points);

WaveSheet wave_after(std::int64_t steps, int points);

}  // namespace pinion::test_support
