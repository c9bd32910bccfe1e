// What the bridge notes on a job: the AdminComment, which only root and SlurmUser may write. All
// that the bridge has to know of a job after a restart is in it:
//
//   pinion=wait;attempt=2;failed=1;since=1795562144;after=1795562204;sizes=2-8x4;cpus=node-0:0-3/node-2:4-7,12
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/slurm/job.h"

namespace pinion::slurm {

// How many nodes an elastic job may have, as it was submitted, and its CPUs on each. Slurm itself
// forgets that when the job is placed.
struct Sizes {
  int least = 1;
  int most = 1;
  int cpus = 1;

  bool operator==(const Sizes&) const = default;
};

struct Mark {
  bool user_held = false;                        // submitted with --hold
  int attempt = 0;                               // to place it, since its submission
  int failed = 0;                                // of these, by what may happen again
  std::int64_t since_s = 0;                      // when it was let go on its nodes; 0: not yet
  std::int64_t after_s = 0;                      // no placeholders before
  std::optional<Sizes> sizes = {};               // of an elastic job that was placed
  std::map<std::string, std::string> cpus = {};  // its cores on each node, where known

  bool operator==(const Mark&) const = default;
};

// nullopt: the job is none that waits for cores. What is not understood behind the first word is
// left out.
[[nodiscard]] std::optional<Mark> read_mark(std::string_view admin_comment);
[[nodiscard]] std::string to_text(const Mark& mark);

// Of the text: an argument of scontrol has at most 128 KiB. prolog.sh reads as many.
inline constexpr std::size_t kLongestMark = 131'000;

// Of a job of ours by which another one grows, as job_submit.lua marks it: that one's number; 0: it
// is no such job.
[[nodiscard]] std::uint32_t grown_by(std::string_view admin_comment);

// "12-1795562144-0-1": this attempt to run this submission of the job, never given twice.
[[nodiscard]] std::string attempt_of(const Job& job, const Mark& mark);

// A comment is the user's, and may end with what we tell: "profile=cpu [pinion: waits for ...]".
[[nodiscard]] std::string_view users_comment(std::string_view comment);
// With `why` in place of what was told before; without where it is empty.
[[nodiscard]] std::string told(std::string_view comment, std::string_view why);

// What job_submit.lua appends to the comment of a job that was submitted with --hold, when its user
// releases it.
inline constexpr std::string_view kReleased = "released-by-user";

// Words of the user's comment, parted by blanks or commas: the value of NAME=VALUE; empty: not
// there.
[[nodiscard]] std::string_view word_in(std::string_view comment, std::string_view name);
[[nodiscard]] bool has_word(std::string_view comment, std::string_view word);

}  // namespace pinion::slurm
