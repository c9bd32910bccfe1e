// Changes to one pod template (or pod). What its user has stated stays, and is an error where it
// contradicts; the first error is kept, and what is asked after it does not count.
#pragma once

#include <optional>
#include <string>

#include "cluster/extender/jobs/fields.h"
#include "cluster/extender/jobs/job_request.h"

namespace pinion::cluster::jobs {

class TemplateEditor {
 public:
  // `at`: where it stands in the job, for texts. `pod` outlives this.
  TemplateEditor(json& pod, Pointer at) : pod_(pod), at_(std::move(at)) {}

  // An annotation that must have this value.
  void mark(const std::string& name, const std::string& value);
  // One that has it unless another is stated.
  void suggest(const std::string& name, const std::string& value);
  // Requests and limits of the first container, which is the one that works.
  void set_resources(int cpus, std::optional<Bytes> memory);
  // Instead of none or the default one. False: the user has chosen another.
  bool set_scheduler(const std::string& name);
  // A scheduling gate, beside others that are there.
  void gate(const std::string& name);
  // The ConfigMap as a volume, mounted in the first container.
  void mount_hostfile(const std::string& config_map);
  // A variable of the first container, unless it is stated.
  void suggest_env(const std::string& name, const std::string& value);

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  // Nothing, with the error kept.
  json* annotations();
  json* first_container();
  template <class T>
  T* keep(Result<T*> result);
  void set_amount(json& amounts, const std::string& name, const std::string& value,
                  const Pointer& at);
  void fail(Error error);

  json& pod_;
  Pointer at_;
  std::optional<Error> error_;
};

inline constexpr const char* kHostfileFolder = "/etc/pinion";

}  // namespace pinion::cluster::jobs
