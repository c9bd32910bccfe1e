#include "tests/lab/cgroup_tree.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "tests/lab/files.h"

namespace pinion::lab {
namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> subdirectories(const std::string& dir) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(dir.c_str()), ::closedir);
  if (!handle) return names;
  while (const dirent* entry = ::readdir(handle.get())) {
    const std::string name = static_cast<const char*>(entry->d_name);
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.push_back(dir + "/" + name);
  }
  return names;
}

void collect_processes(const std::string& dir, std::vector<int>& pids) {
  if (const auto text = read_file(dir + "/cgroup.procs")) {
    for (const auto& line : split(*text, '\n')) pids.push_back(std::atoi(line.c_str()));
  }
  for (const auto& below : subdirectories(dir)) collect_processes(below, pids);
}

Status remove_below(const std::string& dir) {
  for (const auto& below : subdirectories(dir)) {
    if (Status done = remove_below(below); !done) return done;
  }
  if (::rmdir(dir.c_str()) != 0 && errno != ENOENT) return sys_failure("rmdir " + dir);
  return {};
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

Status make_dir(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0755) != 0 && errno != EEXIST) return sys_failure("mkdir " + dir);
  return {};
}

// cgroup v1: a new group has no CPUs and can hold no task until it is given some.
Status inherit_cpuset(const std::string& parent, const std::string& dir) {
  for (const char* name : {"/cpuset.cpus", "/cpuset.mems"}) {
    const auto own = read_file(dir + name);
    if (!own) return failure(own.error());
    if (!trimmed(*own).empty()) continue;
    const auto inherited = read_file(parent + name);
    if (!inherited) return failure(inherited.error());
    if (Status done = write_existing(dir + name, trimmed(*inherited)); !done) return done;
  }
  return {};
}

// kubelet's and runc's formula from cpu.shares (2..262144) to cpu.weight (1..10000).
std::uint64_t weight_of(std::uint64_t shares) {
  return 1 + (shares - 2) * 9999 / 262142;
}

}  // namespace

Result<CgroupTree> CgroupTree::discover() {
  const auto mounts = read_file("/proc/self/mounts");
  if (!mounts) return failure(mounts.error());
  CgroupTree tree;
  for (const auto& line : split(*mounts, '\n')) {
    const auto field = split(line, ' ');
    if (field.size() < 4 || (field[2] != "cgroup" && field[2] != "cgroup2")) continue;
    const std::string& root = field[1];
    if (has(tree.roots_, root)) continue;
    tree.roots_.push_back(root);
    const bool v2 = field[2] == "cgroup2";
    const auto listed = v2 ? read_file(root + "/cgroup.controllers") : Result<std::string>("");
    const auto controllers = v2 && listed ? split(trimmed(*listed), ' ') : split(field[3], ',');
    if (tree.cpuset_.empty() && has(controllers, "cpuset")) {
      tree.cpuset_ = root;
      tree.unified_ = v2;
    }
    if (tree.cpu_.empty() && has(controllers, "cpu")) tree.cpu_ = root;
  }
  if (tree.cpuset_.empty()) return failure(Errc::kNotFound, "no cgroup hierarchy has cpuset");
  return tree;
}

Status CgroupTree::create(const std::string& path, std::uint64_t shares) {
  std::string sofar;
  for (const auto& part : split(path, '/')) {
    const std::string parent = sofar;
    sofar += "/" + part;
    if (unified_) {
      const std::string control = cpuset_ + parent + "/cgroup.subtree_control";
      for (const char* controller : {"+cpuset", "+cpu", "+memory", "+pids"}) {
        // A controller that this machine lacks is refused; cpuset is checked by its file below.
        if (Status done = write_existing(control, controller); !done) continue;
      }
    }
    if (Status done = make_dir(cpuset_ + sofar); !done) return done;
    if (!unified_) {
      Status done = inherit_cpuset(cpuset_ + parent, cpuset_ + sofar);
      if (!done) return done;
      if (!cpu_.empty()) done = make_dir(cpu_ + sofar);
      if (!done) return done;
    }
  }
  if (shares == 0 || cpu_.empty()) return {};
  if (unified_) {
    return write_existing(cpu_ + path + "/cpu.weight", std::to_string(weight_of(shares)));
  }
  return write_existing(cpu_ + path + "/cpu.shares", std::to_string(shares));
}

Status CgroupTree::limit(const std::string& path, std::int64_t quota) const {
  const std::string limit = std::to_string(quota);
  if (!unified_) return write_existing(cpu_ + path + "/cpu.cfs_quota_us", limit);
  return write_existing(cpu_ + path + "/cpu.max", quota < 0 ? "max" : limit);
}

Result<std::optional<std::int64_t>> CgroupTree::quota(const std::string& path) const {
  const auto text = read_file(cpu_ + path + (unified_ ? "/cpu.max" : "/cpu.cfs_quota_us"));
  if (!text) return failure(text.error());
  const std::string limit = split(trimmed(*text), ' ').front();
  if (limit == "max" || limit == "-1") return std::nullopt;
  return std::stoll(limit);
}

Result<std::int64_t> CgroupTree::cpu_stat(const std::string& path, const std::string& key) const {
  const auto text = read_file(cpu_ + path + "/cpu.stat");
  if (!text) return failure(text.error());
  for (const auto& line : split(*text, '\n')) {
    const auto field = split(line, ' ');
    if (field.size() == 2 && field[0] == key) return std::stoll(field[1]);
  }
  return failure(Errc::kNotFound, "cpu.stat of " + path + " has no " + key);
}

Status CgroupTree::remove(const std::string& path) const {
  Status result;
  for (const auto& root : roots_) {
    if (Status done = remove_below(root + path); !done) result = done;
  }
  return result;
}

Result<topology::CpuSet> CgroupTree::cpus(const std::string& path) const {
  const auto text =
      read_file(cpuset_ + path + (unified_ ? "/cpuset.cpus.effective" : "/cpuset.cpus"));
  if (!text) return failure(text.error());
  return topology::CpuSet::parse(*text);
}

Result<topology::NodeSet> CgroupTree::mems(const std::string& path) const {
  const auto text =
      read_file(cpuset_ + path + (unified_ ? "/cpuset.mems.effective" : "/cpuset.mems"));
  if (!text) return failure(text.error());
  return topology::NodeSet::parse(*text);
}

std::vector<int> CgroupTree::processes(const std::string& path) const {
  std::vector<int> pids;
  collect_processes(cpuset_ + path, pids);
  return pids;
}

std::vector<int> CgroupTree::processes_anywhere(const std::string& path) const {
  std::vector<int> pids;
  for (const auto& root : roots_) collect_processes(root + path, pids);
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace pinion::lab
