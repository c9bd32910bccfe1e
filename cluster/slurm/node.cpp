#include "cluster/slurm/node.h"

#include <algorithm>
#include <optional>

#include "base/words.h"

namespace pinion::slurm {
namespace {

constexpr int kDeepest = 8;  // parentheses
constexpr std::size_t kLongest = 1024;
constexpr std::size_t kNamed = 3;  // nodes whose state is told

class Constraint {
 public:
  Constraint(std::string_view text, const std::set<std::string>& features)
      : left_(text), features_(features) {}

  // nullopt: it is no such expression.
  std::optional<bool> value() {
    const auto value = expression(0);
    return left_.empty() ? value : std::nullopt;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): no deeper than kDeepest
  std::optional<bool> expression(int depth) {
    auto value = part(depth);
    while (value && !left_.empty() && (left_.front() == '&' || left_.front() == '|')) {
      const bool both = left_.front() == '&';
      left_.remove_prefix(1);
      const auto next = part(depth);
      if (!next) return std::nullopt;
      value = both ? *value && *next : *value || *next;
    }
    return value;
  }

  // NOLINTNEXTLINE(misc-no-recursion): as expression()
  std::optional<bool> part(int depth) {
    if (left_.empty() || left_.front() != '(') return name();
    if (depth == kDeepest) return std::nullopt;
    left_.remove_prefix(1);
    const auto value = expression(depth + 1);
    if (left_.empty() || left_.front() != ')') return std::nullopt;
    left_.remove_prefix(1);
    return value;
  }

  std::optional<bool> name() {
    const auto length = std::min(left_.find_first_of("&|()[]*,"), left_.size());
    if (length == 0) return std::nullopt;
    const std::string name(left_.substr(0, length));
    left_.remove_prefix(length);
    return features_.contains(name);
  }

  std::string_view left_;
  const std::set<std::string>& features_;
};

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What keeps a job off nodes, counted.
class Others {
 public:
  Others(const Job& job, const std::string& partition)
      : job_(job),
        partition_(partition),
        excluded_names_(job.excluded.begin(), job.excluded.end()) {}

  // Whether the job may not have it.
  bool takes(const Node& node) {
    if (!partition_.empty() && !has(node.partitions, partition_)) return ++elsewhere_ > 0;
    if (excluded_names_.contains(node.name)) return ++excluded_ > 0;
    const auto fit = fits(job_.constraint, node.features);
    if (!fit) return ++unclear_ > 0;
    if (!*fit) return ++unfit_ > 0;
    if (node.out.empty()) return false;
    if (++out_ <= kNamed) named_.push_back(node.name + " is " + node.out);
    return true;
  }

  [[nodiscard]] std::string text() const {
    std::vector<std::string> parts;
    if (unclear_ > 0) {
      parts.push_back("--constraint=" + job_.constraint.substr(0, kLongest) +
                      " cannot be placed, join features with & and | alone");
    }
    parts.insert(parts.end(), named_.begin(), named_.end());
    if (out_ > kNamed) parts.push_back(std::to_string(out_ - kNamed) + " more are out of service");
    if (unfit_ > 0) parts.push_back(std::to_string(unfit_) + " lack " + job_.constraint);
    if (elsewhere_ > 0) {
      parts.push_back(std::to_string(elsewhere_) + " are not in partition " + partition_);
    }
    if (excluded_ > 0) parts.push_back(std::to_string(excluded_) + " are excluded");
    return joined(parts, ", ");
  }

 private:
  const Job& job_;
  const std::string& partition_;
  const std::set<std::string> excluded_names_;
  std::size_t elsewhere_ = 0;
  std::size_t excluded_ = 0;
  std::size_t unclear_ = 0;
  std::size_t unfit_ = 0;
  std::size_t out_ = 0;
  std::vector<std::string> named_;
};

}  // namespace

Result<bool> fits(std::string_view constraint, const std::set<std::string>& features) {
  if (constraint.empty()) return true;
  if (constraint.size() > kLongest) return failure(Errc::kInvalid, "too long");
  const auto value = Constraint(constraint, features).value();
  if (!value) return failure(Errc::kInvalid, "not features joined with & and |");
  return *value;
}

Choice choose_nodes(const Job& job, const std::string& partition, const std::vector<Node>& nodes) {
  Choice choice;
  Others others(job, partition);
  for (const Node& node : nodes) {
    if (!others.takes(node)) choice.nodes.push_back(node.name);
  }
  std::sort(choice.nodes.begin(), choice.nodes.end());
  choice.others = others.text();
  return choice;
}

}  // namespace pinion::slurm
