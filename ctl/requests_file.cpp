#include "ctl/requests_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "topology/words.h"

namespace pinion::ctl {
namespace {

using topology::Align;
using topology::MemoryPolicy;
using topology::Profile;
using topology::Request;
using topology::Smt;
using topology::Strength;

constexpr std::size_t kMaxShown = 64;
constexpr int kMaxCpus = topology::CpuSet::kCapacity;

constexpr std::array<std::string_view, 13> kKeys{
    "id",        "count",       "cpus", "align",      "strength", "smt", "memory", "memory-policy",
    "isolation", "near-device", "job",  "task-group", "profile"};

std::string at(const YAML::Mark& mark) {
  return mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
}

tl::unexpected<Error> wrong(const YAML::Node& node, const std::string& text) {
  return failure(Errc::kInvalid, at(node.Mark()) + text);
}

std::string shown(const std::string& text) {
  return "'" + text.substr(0, kMaxShown) + "'";
}

// One entry of the list. The first error is kept; what is read after it does not count.
class Entry {
 public:
  explicit Entry(const YAML::Node& node) : node_(node) { check_keys(); }

  [[nodiscard]] bool has(const char* key) const { return static_cast<bool>(node_[key]); }

  std::string text(const char* key, std::string otherwise = "") {
    const YAML::Node value = node_[key];
    if (!value) return otherwise;
    if (!value.IsScalar() || value.Scalar().empty()) {
      fail(value, std::string(key) + " must be a word");
      return otherwise;
    }
    return value.Scalar();
  }

  int number(const char* key, int otherwise, int most) {
    const YAML::Node value = node_[key];
    if (!value) return otherwise;
    int result = 0;
    const std::string digits = value.IsScalar() ? value.Scalar() : "";
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
        result < 1 || result > most) {
      fail(value, std::string(key) + " must be a whole number from 1 to " + std::to_string(most));
    }
    return result;
  }

  topology::Bytes bytes(const char* key) {
    if (!has(key)) return 0;
    auto result = parse_quantity(text(key));
    if (!result) fail(node_[key], std::string(key) + ": " + result.error().text);
    return result.value_or(0);
  }

  template <class T, std::size_t N>
  T word(const char* key, const std::array<topology::Word<T>, N>& words, T otherwise) {
    if (!has(key)) return otherwise;
    const std::string value = text(key);
    if (const auto known = topology::value_of(value, words)) return *known;
    fail(node_[key], std::string(key) + ": unknown value " + shown(value) +
                         ", use one of: " + topology::list_of(words));
    return otherwise;
  }

  void fail(const YAML::Node& where, const std::string& text) {
    if (!error_) error_ = wrong(where, text).value();
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void check_keys() {
    std::set<std::string> seen;
    for (const auto& pair : node_) {
      const std::string key = pair.first.IsScalar() ? pair.first.Scalar() : "";
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
        std::string known;
        for (const std::string_view name : kKeys)
          known.append(known.empty() ? "" : ", ").append(name);
        fail(pair.first, "unknown key " + shown(key) + "; known are: " + known);
      } else if (!seen.insert(key).second) {
        fail(pair.first, "key " + shown(key) + " is given twice");
      }
    }
  }

  YAML::Node node_;
  std::optional<Error> error_;
};

// The defaults are the agent's for the annotations of the same names.
Request read_request(Entry& entry) {
  Request request;
  request.cpus = entry.number("cpus", 0, kMaxCpus);
  request.align = entry.word("align", topology::kAlignWords, Align::kNuma);
  request.job = entry.text("job");
  request.strength = entry.word("strength", topology::kStrengthWords,
                                request.job.empty() ? Strength::kPreferred : Strength::kRequired);
  request.smt = entry.word("smt", topology::kSmtWords, Smt::kFullCore);
  request.memory = entry.bytes("memory");
  const bool in_one_node = request.align == Align::kL3 || request.align == Align::kNuma;
  request.memory_policy = entry.word("memory-policy", topology::kMemoryPolicyWords,
                                     in_one_node ? MemoryPolicy::kBind : MemoryPolicy::kAny);
  request.use_isolated = entry.word("isolation", topology::kIsolationWords, false);
  request.near_device = entry.text("near-device");
  request.task_group = entry.text("task-group");
  request.profile = entry.word("profile", topology::kProfileWords, Profile::kNone);
  return request;
}

class Reader {
 public:
  Status add(const YAML::Node& node) {
    ++position_;
    if (!node.IsMap()) return wrong(node, "an entry must be a map with at least the key 'cpus'");
    Entry entry(node);
    if (!entry.has("cpus")) entry.fail(node, "the key 'cpus' is missing");
    Request request = read_request(entry);
    const std::string id = entry.text("id", "container-" + std::to_string(position_));
    const int count = entry.number("count", 1, kMaxRequests);
    if (entry.error()) return failure(*entry.error());
    if (static_cast<int>(requests.size()) + count > kMaxRequests) {
      return wrong(node, "more than " + std::to_string(kMaxRequests) + " containers");
    }
    for (int i = 0; i < count; ++i) {
      request.id = entry.has("count") ? id + "-" + std::to_string(i) : id;
      if (!ids_.insert(request.id).second) {
        return wrong(node, "the id " + shown(request.id) + " is given twice");
      }
      requests.push_back(request);
    }
    return {};
  }

  std::vector<Request> requests;

 private:
  int position_ = 0;
  std::set<std::string> ids_;
};

}  // namespace

Result<std::vector<Request>> parse_requests(const std::string& text) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsSequence()) return wrong(root, "the file must be a list of containers");
    Reader reader;
    for (const YAML::Node& node : root) {
      const Status added = reader.add(node);
      if (!added) return failure(added.error());
    }
    return std::move(reader.requests);
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid, at(error.mark) + error.msg);
  }
}

}  // namespace pinion::ctl
