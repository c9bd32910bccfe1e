#include "tests/bench/reference_loop.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pinion::bench {
namespace {

constexpr std::size_t kNumbers = 2048;
constexpr int kWords = 256;
constexpr std::uint32_t kPlaces = 1U << 16;
constexpr int kLinks = 4096;

std::uint32_t next(std::mt19937& random) {
  return static_cast<std::uint32_t>(random());
}

}  // namespace

ReferenceLoop::ReferenceLoop() : numbers_(kNumbers) {
  for (int i = 0; i < kWords; ++i) words_.push_back("container-" + std::to_string(next(random_)));
  for (std::uint32_t place = 0; place < kPlaces; ++place) chain_.push_back(place);
  // Sattolo's shuffle leaves one circle.
  for (std::uint32_t place = kPlaces - 1; place > 0; --place) {
    std::swap(chain_[place], chain_[next(random_) % place]);
  }
}

std::uint64_t ReferenceLoop::turn() {
  for (std::uint32_t& number : numbers_) number = next(random_);
  std::sort(numbers_.begin(), numbers_.end());
  std::map<std::string, std::uint32_t> found;
  for (const std::string& word : words_) found[word] = numbers_[found.size()];
  std::uint64_t sum = 0;
  for (const std::string& word : words_) sum += found.at(word);
  std::uint32_t place = 0;
  for (int i = 0; i < kLinks; ++i) place = chain_[place];
  return sum + place;
}

}  // namespace pinion::bench
