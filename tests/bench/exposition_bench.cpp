// The text of one scrape by our writer and by prometheus-cpp's TextSerializer, from the same
// families: why the agent has a writer of its own (metrics/prometheus/writer.h). `allocations` and
// `KiB` are those of one text. By hand: nothing is compared with a baseline.
#include <benchmark/benchmark.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/unit/http/example_node.h"

namespace {

std::size_t allocations = 0;  // of this program, which has one thread
std::size_t allocated = 0;    // bytes

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  allocated += size;
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace pinion::agent {
namespace {

using Families = std::vector<::prometheus::MetricFamily>;
using ::prometheus::ClientMetric;
using ::prometheus::MetricType;

std::string_view cut(std::string_view& text, std::string_view end) {
  const auto at = std::min(text.find(end), text.size());
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return part;
}

std::vector<ClientMetric::Label> labels_of(std::string_view text) {
  std::vector<ClientMetric::Label> labels;
  while (!text.empty()) {
    const std::string name(cut(text, "=\""));
    labels.push_back({name, std::string(cut(text, "\""))});  // the example escapes nothing
    if (text.starts_with(",")) text.remove_prefix(1);
  }
  return labels;
}

// One line of our text into a family that its HELP and TYPE have begun.
void add_sample(::prometheus::MetricFamily& family, std::string_view line) {
  const std::string_view name = line.substr(0, line.find_first_of("{ "));
  line.remove_prefix(name.size());
  std::string_view inside;
  if (line.starts_with("{")) {
    line.remove_prefix(1);
    inside = cut(line, "} ");
  } else {
    line.remove_prefix(1);
  }
  const double value = std::stod(std::string(line));
  auto labels = labels_of(inside);
  if (family.type != MetricType::Histogram) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = metric.gauge.value = metric.untyped.value = value;
    family.metric.push_back(std::move(metric));
    return;
  }
  std::string bound;
  if (name.ends_with("_bucket")) {
    bound = labels.back().value;
    labels.pop_back();
  }
  if (family.metric.empty() || family.metric.back().label != labels) {
    family.metric.emplace_back().label = std::move(labels);
  }
  auto& histogram = family.metric.back().histogram;
  if (!bound.empty()) {
    histogram.bucket.push_back({static_cast<std::uint64_t>(value), std::stod(bound)});
  } else if (name.ends_with("_sum")) {
    histogram.sample_sum = value;
  } else {
    histogram.sample_count = static_cast<std::uint64_t>(value);
  }
}

Families families_of(std::string_view text) {
  const std::map<std::string_view, MetricType> types = {{"counter", MetricType::Counter},
                                                        {"gauge", MetricType::Gauge},
                                                        {"histogram", MetricType::Histogram}};
  Families families;
  while (!text.empty()) {
    std::string_view line = cut(text, "\n");
    if (line.starts_with("# HELP ")) {
      line.remove_prefix(7);
      auto& family = families.emplace_back();
      family.name = cut(line, " ");
      family.help = line;
    } else if (line.starts_with("# TYPE ")) {
      const auto type = types.find(line.substr(line.rfind(' ') + 1));
      if (type != types.end()) families.back().type = type->second;
    } else {
      add_sample(families.back(), line);
    }
  }
  return families;
}

auto lines_of(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

// `write` returns the text.
template <class Write>
void measure(benchmark::State& state, Write write) {
  std::string text;
  std::size_t turns = 0;
  const std::size_t count = allocations;
  const std::size_t bytes = allocated;
  for (auto _ : state) {
    text = write();
    benchmark::DoNotOptimize(text.data());
    ++turns;
  }
  const auto each = [turns](std::size_t all) {
    return static_cast<double>(all) / static_cast<double>(std::max<std::size_t>(turns, 1));
  };
  state.counters["allocations"] = each(allocations - count);
  state.counters["KiB"] = each(allocated - bytes) / 1024;
  state.counters["bytes"] = static_cast<double>(text.size());
  state.counters["lines"] = static_cast<double>(lines_of(text));
}

std::string ours(const ExampleNode& node) {
  return expose(node.view, node.sample, node.extras, prometheus::Format::kText);
}

std::string theirs(const Families& families) {
  std::ostringstream out;
  ::prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

// From the agent's own figures to the text.
void writer(benchmark::State& state) {
  const ExampleNode node = full_node(static_cast<int>(state.range(0)));
  measure(state, [&] { return ours(node); });
}

// From families that are there already.
void text_serializer(benchmark::State& state) {
  const Families families = families_of(ours(full_node(static_cast<int>(state.range(0)))));
  if (lines_of(theirs(families)) != lines_of(ours(full_node(static_cast<int>(state.range(0)))))) {
    state.SkipWithError("other families");
    return;
  }
  measure(state, [&] { return theirs(families); });
}

// As a registry: families are made anew for each scrape, of which a copy is the least.
void collected_and_serialized(benchmark::State& state) {
  const Families families = families_of(ours(full_node(static_cast<int>(state.range(0)))));
  measure(state, [&] {
    const Families collected = families;
    return theirs(collected);
  });
}

BENCHMARK(writer)->Arg(200)->Unit(benchmark::kMillisecond);
BENCHMARK(text_serializer)->Arg(200)->Unit(benchmark::kMillisecond);
BENCHMARK(collected_and_serialized)->Arg(200)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pinion::agent
