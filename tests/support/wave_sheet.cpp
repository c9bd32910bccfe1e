#include "tests/support/wave_sheet.h"

#include <fstream>
#include <utility>

namespace pinion::test_support {

std::optional<WaveSheet> read_wave(const std::string& file, int points) {
  const std::size_t count = static_cast<std::size_t>(points) * static_cast<std::size_t>(points + 2);
  WaveSheet sheet{
      .step = 0, .before = std::vector<double>(count), .now = std::vector<double>(count)};
  std::ifstream in(file, std::ios::binary);
  in.read(reinterpret_cast<char*>(&sheet.step), sizeof(sheet.step));
  for (auto* values : {&sheet.before, &sheet.now}) {
    in.read(reinterpret_cast<char*>(values->data()),
            static_cast<std::streamsize>(count * sizeof(double)));
  }
  if (!in || in.peek() != std::ifstream::traits_type::eof()) return std::nullopt;
  return sheet;
}

WaveSheet wave_after(std::int64_t steps, int points) {
  const auto size = static_cast<std::size_t>(points + 2);
  using Grid = std::vector<std::vector<double>>;
  Grid now(size, std::vector<double>(size));
  for (std::size_t i = 1; i + 1 < size; ++i) {
    for (std::size_t j = 1; j + 1 < size; ++j) {
      const double x = static_cast<double>(j) / (points + 1) - 0.3;
      const double y = static_cast<double>(i) / (points + 1) - 0.4;
      now[i][j] = 1 / (1 + 100 * (x * x + y * y));
    }
  }
  Grid before = now;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::size_t i = 1; i + 1 < size; ++i) {
      for (std::size_t j = 1; j + 1 < size; ++j) {
        const double around = now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1];
        before[i][j] = 2 * now[i][j] - before[i][j] + 0.25 * (around - 4 * now[i][j]);
      }
    }
    std::swap(before, now);
  }
  WaveSheet sheet{.step = steps, .before = {}, .now = {}};
  for (std::size_t i = 1; i + 1 < size; ++i) {
    sheet.before.insert(sheet.before.end(), before[i].begin(), before[i].end());
    sheet.now.insert(sheet.now.end(), now[i].begin(), now[i].end());
  }
  return sheet;
}

}  // namespace pinion::test_support
