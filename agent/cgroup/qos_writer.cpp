#include "agent/cgroup/qos_writer.h"

#include <utility>

#include "agent/cgroup/qos_groups.h"
#include "agent/cgroup/slice_record.h"
#include "base/cgroup/group_files.h"
#include "base/whole_file.h"

namespace pinion::cgroup {

using engine::CpuSet;

QosWriter::QosWriter(std::vector<systemd::Address> addresses, systemd::Timing timing)
    : asks_(!addresses.empty()),
      thread_(std::make_unique<SliceThread>(SliceProperties(std::move(addresses), timing))) {}

// What is known of the slice goes into `result`; systemd is asked, and told, where what is wanted
// or the file is not as it was, and at each audit.
void QosWriter::ask(int group, const std::string& unit, const engine::Enforce& wanted, Slice& slice,
                    engine::Enforced& result) {
  SliceTarget target{.cpus = wanted.cpuset.cpus, .below = wanted.below};
  const CpuSet& now = result.found->cpus;
  // Until it has told, the file may get what was wanted before.
  result.systemd_writes =
      thread_->at_work_on(unit) || (slice.answer && std::exchange(slice.answer->told, false));
  if (wanted.cause == engine::Cause::kAudit || slice.left != now || slice.target != target) {
    slice.id = wanted.id;
    slice.target = target;
    if (auto begun = thread_->bring(group, unit, std::move(target)); !begun) {
      slice.answer = SliceAnswer{.limit = {}, .error = begun.error().text, .told = false};
    }
  }
  if (slice.answer) {
    result.limit = slice.answer->limit;
    result.slice_error = slice.answer->error;
  } else {
    const auto record = read_slice_record(group);
    result.limit = record ? record->original : now;
  }
}

Status QosWriter::bring(int group, const std::string& path, const engine::Enforce& wanted,
                        engine::Enforced& result) {
  const std::string unit = unit_of(path);
  const CpuSet& now = result.found->cpus;
  Slice* slice = unit.empty() || !asks_ ? nullptr : &slices_[unit];
  if (slice != nullptr) ask(group, unit, wanted, *slice, result);
  const CpuSet cpus = engine::within(result.limit, wanted.cpuset.cpus, wanted.below);
  if (slice != nullptr) slice->left = cpus;
  result.written = now != cpus;
  if (!result.written) return {};
  if (cpus.empty()) return failure(Errc::kInternal, "an empty CPU set is never written");
  if (auto done = write_file(group, "cpuset.cpus", cpus.to_string()); !done) return done;
  mark_narrowed(group);
  return {};
}

Status QosWriter::widen_narrowed(const Hierarchy& hierarchy) {
  return thread_->widen_narrowed(hierarchy);
}

int QosWriter::news_fd() const {
  return thread_->fd();
}

QosWriter::News QosWriter::take_news() {
  SliceThread::News heard = thread_->take_news();
  News news{.groups = {}, .widened = std::move(heard.widened)};
  for (SliceThread::News::Slice& one : heard.slices) {
    Slice& slice = slices_[one.unit];
    if (slice.answer) one.answer.told |= slice.answer->told;
    if (slice.answer == one.answer && !one.answer.told) continue;
    slice.answer = std::move(one.answer);
    news.groups.push_back(slice.id);
  }
  return news;
}

}  // namespace pinion::cgroup
