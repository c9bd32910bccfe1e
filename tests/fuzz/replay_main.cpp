// Runs a fuzz target over every file of a corpus folder: the corpus is a regression test of the
// normal build, with any compiler. Fails on an empty or missing folder.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/target.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]);
    return 2;
  }
  const pinion::fuzz::Target target = pinion::fuzz::chosen(argv[0]);
  int inputs = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1], error)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++inputs;
  }
  std::printf("%s: %d inputs replayed\n", argv[1], inputs);
  return inputs > 0 ? 0 : 1;
}
