// What the application of an elastic job is told, and asked.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "cluster/extender/elastic/elastic_job.h"

namespace pinion::cluster::elastic {

// The ConfigMap JOB-elastic, which the job's pods mount to be told. Its files:
inline constexpr const char* kWantedFile = "wanted-workers";  // size_to_tell(), and a newline
// Hosts of as many workers, one on a line; absent where they have no names that are known.
inline constexpr const char* kHostsFile = "hosts";
// Charm++'s: the hosts of max_workers workers, so that it needs no change before an expand.
inline constexpr const char* kNodelistFile = "nodelist";

[[nodiscard]] std::string size_map_name(const std::string& job);
// Whether pods of this template mount it.
[[nodiscard]] bool mounts_size(const nlohmann::json& pod, const std::string& job);

// With how many workers the application is to run: fewer as soon as that is decided, more once the
// new ones are there.
[[nodiscard]] int size_to_tell(const ElasticObject& job);
// What the ConfigMap's files follow from: these are equal where those are.
struct SizeTold {
  int workers = 0;
  int max_workers = 0;
  int pes_per_worker = 0;
  std::optional<jobs::HostName> host{};

  bool operator==(const SizeTold&) const = default;
};
[[nodiscard]] SizeTold size_told(const ElasticObject& job);
// Precondition: job.is_told.
[[nodiscard]] nlohmann::json size_map(const ElasticObject& job);

// Whether the application is to be asked now, over HTTP or CCS; or, where no rescale is under way,
// whether it has acted on what it was sent for one that was given up.
[[nodiscard]] bool is_to_be_asked(const ElasticObject& job);
// What it is asked by HTTP: a POST of this to kQuestionPath. 200: it is ready; 202: not yet;
// 409: it declines.
inline constexpr const char* kQuestionPath = "/pinion/workers";
[[nodiscard]] nlohmann::json question(const ElasticObject& job);

// Whether the application is to be asked how far it is, by a GET of kProgressPath.
[[nodiscard]] bool is_to_tell_progress(const ElasticObject& job);
inline constexpr const char* kProgressPath = "/pinion/progress";
// What it answers.
struct Said {
  std::optional<Progress> progress{};
  std::optional<int> workers{};  // 1 .. kLargestSize: with so many it wishes to run
};
// {"done": 120, "whole": 1000, "workers": 6}, where "whole" may be absent, and "done" or "workers".
// Errors: kInvalid.
Result<Said> said_in(const nlohmann::json& answer);

// Merge patches for the version that was seen: the application is ready for so many workers; this
// is about to be sent to it, or was; nothing that it was sent counts any more.
[[nodiscard]] nlohmann::json acknowledged(const ElasticObject& job, int workers);
[[nodiscard]] nlohmann::json note_sent(const ElasticObject& job, const Sent& what);
// With so many workers its application wishes to run, which the next leader begins with.
[[nodiscard]] nlohmann::json note_wish(const ElasticObject& job, std::optional<int> workers);
// Of a rescale that goes on, the time begins anew: its program may be another one.
[[nodiscard]] nlohmann::json nothing_sent(const ElasticObject& job, std::int64_t now_ms);

}  // namespace pinion::cluster::elastic
