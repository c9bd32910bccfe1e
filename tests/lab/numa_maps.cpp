#include "tests/lab/numa_maps.h"

#include <charconv>
#include <sstream>

#include "tests/lab/files.h"

namespace pinion::lab {
namespace {

// "N1=2048": node and pages. False for any other word.
bool read_node(const std::string& word, topology::NodeId& node, long& pages) {
  if (word.size() < 4 || word[0] != 'N') return false;
  const char* end = word.data() + word.size();
  const auto id = std::from_chars(word.data() + 1, end, node);
  if (id.ec != std::errc() || id.ptr == end || *id.ptr != '=') return false;
  return std::from_chars(id.ptr + 1, end, pages).ptr == end;
}

}  // namespace

Result<PagesByNode> parse_numa_maps(const std::string& text) {
  PagesByNode all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // A file's mapping counts the pages that it shares with the page cache and its own together.
    if (line.find(" anon=") == std::string::npos || line.find(" file=") != std::string::npos) {
      continue;
    }
    bool any = false;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      topology::NodeId node = 0;
      long pages = 0;
      if (!read_node(word, node, pages)) continue;
      all[node] += pages;
      any = true;
    }
    if (!any) return failure(Errc::kInvalid, "numa_maps: no node in '" + line + "'");
  }
  return all;
}

Result<PagesByNode> anonymous_pages(int pid) {
  const auto text = read_file("/proc/" + std::to_string(pid) + "/numa_maps");
  if (!text) return failure(text.error());
  return parse_numa_maps(*text);
}

}  // namespace pinion::lab
