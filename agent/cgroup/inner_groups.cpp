#include "agent/cgroup/inner_groups.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/cgroup/group_files.h"
#include "base/whole_file.h"

namespace pinion::cgroup {
namespace {

using engine::CpuSet;

constexpr const char* kCpus = "cpuset.cpus";
constexpr std::size_t kMostWalks = 8;
constexpr std::size_t kMostOpen =
    2 * static_cast<std::size_t>(kMaxGroupDepth);  // directories, of all walks that wait
constexpr int kMostRounds = 3;

bool is_gone(const Status& done) {
  return !done && (done.error().sys_errno == ENOENT || done.error().sys_errno == ENODEV);
}

}  // namespace

// One container's, that goes on where it stopped.
class InnerWalk {
 public:
  explicit InnerWalk(InnerTarget target) : target_(std::move(target)) {}

  [[nodiscard]] bool is_for(const CpuSet& wanted) const { return target_.wanted == wanted; }
  // Directories that it holds open.
  [[nodiscard]] std::size_t open() const { return levels_.size(); }

  Status begin(int group) {
    Fd own = open_directory(group, ".");
    if (!own.valid()) return sys_failure("open group");
    return enter({.group = std::move(own),
                  .inside = {},
                  .before = target_.now,
                  .target = target_.wanted,
                  .whole = true});
  }

  Result<bool> go_on(Allowance& allowance) {
    while (!levels_.empty()) {
      Level& level = levels_.back();
      if (level.inside && !allowance.take()) return false;
      const auto name = level.inside ? next_group(*level.inside) : std::nullopt;
      if (auto done = name ? follow(level, *name) : leave(level); !done) {
        return failure(done.error());
      }
    }
    return true;
  }

 private:
  struct Level {
    [[nodiscard]] int fd() const { return inside ? dirfd(inside.get()) : group.get(); }

    Fd group;                               // where there is no `inside`
    std::unique_ptr<DIR, CloseDir> inside;  // those not looked at yet; nullptr: there are none
    CpuSet before;
    CpuSet target;
    bool whole = false;       // it has all of the container's CPUs
    bool in_the_way = false;  // those inside are, until they are narrower
    int rounds = 0;
  };

  [[nodiscard]] bool thorough() const { return !target_.halfway.empty(); }

  // Writes the group's file, as far as those inside allow, and goes on with them.
  Status enter(Level level) {
    const int group = level.group.get();
    const auto write = [&](const CpuSet& cpus) {
      return write_file(group, kCpus, cpus.to_string());
    };
    Status done = level.target == level.before ? Status() : write(level.target);
    level.in_the_way = !done && done.error().sys_errno == EBUSY;
    if (!done && !level.in_the_way) return done;
    if (level.in_the_way && !level.target.is_subset_of(level.before)) {
      if (auto both = write(level.before | level.target); !both) return both;
    }
    struct stat info = {};
    if (::fstat(group, &info) != 0) return sys_failure("list group");
    if (info.st_nlink != 2) {  // see child_groups()
      level.inside.reset(fdopendir(group));
      if (!level.inside) return sys_failure("list group");
      (void)level.group.release();  // owned by `inside` from here on
    }
    levels_.push_back(std::move(level));
    return {};
  }

  // Those inside were brought along; one that has come meanwhile may be in the way again.
  Status leave(Level& level) {
    Status done =
        level.in_the_way ? write_file(level.fd(), kCpus, level.target.to_string()) : Status();
    const bool in_the_way = !done && done.error().sys_errno == EBUSY;
    if (in_the_way && level.inside && ++level.rounds < kMostRounds) {
      rewinddir(level.inside.get());
      return {};
    }
    if (levels_.size() > 1 && is_gone(done)) done = {};
    levels_.pop_back();
    return done;
  }

  Status follow(const Level& around, const std::string& name) {
    if (++seen_ > kMostInnerGroups) {
      return failure(Errc::kExhausted, "it has more than " + std::to_string(kMostInnerGroups) +
                                           " groups inside, which are not followed");
    }
    Fd group = open_directory(around.fd(), name.c_str());
    if (!group.valid()) return errno == ENOENT ? Status() : sys_failure("open " + name);
    const auto has = read_set<CpuSet>(group.get(), kCpus);
    if (!has || has->empty()) return {};
    const bool known =
        std::find(target_.halfway.begin(), target_.halfway.end(), *has) != target_.halfway.end();
    const bool whole = around.whole && (*has == around.before || known);
    const CpuSet common = *has & around.target;
    const bool all = whole || *has == around.before || common.empty();
    const CpuSet& target = all ? around.target : common;
    if (target == *has && !(whole && thorough())) return {};
    if (levels_.size() > static_cast<std::size_t>(kMaxGroupDepth)) {
      return failure(Errc::kInvalid, "it has groups nested deeper than " +
                                         std::to_string(kMaxGroupDepth) +
                                         ", which are not followed");
    }
    auto done = enter({.group = std::move(group),
                       .inside = {},
                       .before = *has,
                       .target = target,
                       .whole = whole});
    return is_gone(done) ? Status() : done;
  }

  InnerTarget target_;
  std::vector<Level> levels_;  // from the container's own group inwards
  int seen_ = 0;
};

InnerGroups::InnerGroups() = default;
InnerGroups::InnerGroups(InnerGroups&&) noexcept = default;
InnerGroups& InnerGroups::operator=(InnerGroups&&) noexcept = default;
InnerGroups::~InnerGroups() = default;

void InnerGroups::forget() {
  walks_.clear();
}

Result<bool> InnerGroups::bring(const std::string& id, int group, const InnerTarget& target,
                                Allowance& allowance) {
  auto at = walks_.find(id);
  if (at == walks_.end() || !at->second->is_for(target.wanted)) {
    if (at != walks_.end()) walks_.erase(at);
    auto walk = std::make_unique<InnerWalk>(target);
    if (auto begun = walk->begin(group); !begun) return failure(begun.error());
    if (walks_.size() >= kMostWalks) walks_.erase(walks_.begin());  // it begins anew
    at = walks_.emplace(id, std::move(walk)).first;
  }
  auto done = at->second->go_on(allowance);
  if (!done || *done) {
    walks_.erase(at);
    return done;
  }
  std::size_t open = 0;
  for (const auto& [of, walk] : walks_) open += walk->open();
  for (auto other = walks_.begin(); open > kMostOpen && other != walks_.end();) {
    const auto next = std::next(other);
    if (other != at) {
      open -= other->second->open();
      walks_.erase(other);  // it begins anew
    }
    other = next;
  }
  return done;
}

}  // namespace pinion::cgroup
