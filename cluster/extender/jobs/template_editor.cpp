#include "cluster/extender/jobs/template_editor.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::jobs {
namespace {

constexpr const char* kVolume = "pinion-hostfile";

std::string value_text(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', true, json::error_handler_t::replace);
}

bool same_amount(const std::string& one, const std::string& other) {
  const auto left = milli_quantity(one);
  const auto right = milli_quantity(other);
  return left && right && *left == *right;
}

// The item of that name, or null.
json* named(json& items, const std::string& name) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const json& item) {
    return kube::json_text(item, "name") == name;
  });
  return found != items.end() ? &*found : nullptr;
}

}  // namespace

void TemplateEditor::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

template <class T>
T* TemplateEditor::keep(Result<T*> result) {
  if (result) return *result;
  fail(std::move(result.error()));
  return nullptr;
}

json* TemplateEditor::annotations() {
  json* metadata = keep(member(pod_, "metadata", json::value_t::object, at_));
  if (metadata == nullptr) return nullptr;
  return keep(member(*metadata, "annotations", json::value_t::object, at_ / "metadata"));
}

json* TemplateEditor::first_container() {
  json* spec = keep(member(pod_, "spec", json::value_t::object, at_));
  if (spec == nullptr) return nullptr;
  json* containers = keep(member(*spec, "containers", json::value_t::array, at_ / "spec"));
  if (containers == nullptr) return nullptr;
  if (!containers->empty() && containers->front().is_object()) return &containers->front();
  fail(wrong_field(at_ / "spec" / "containers", "no container").value());
  return nullptr;
}

void TemplateEditor::mark(const std::string& name, const std::string& value) {
  json* all = annotations();
  if (all == nullptr) return;
  json& stated = (*all)[name];
  if (stated.is_null()) stated = value;
  if (stated == value) return;
  fail(wrong_field(at_ / "metadata" / "annotations",
                   name + " is stated as " + quoted_value(value_text(stated)) +
                       ", and the job makes it '" + value + "'. Leave it out")
           .value());
}

void TemplateEditor::suggest(const std::string& name, const std::string& value) {
  json* all = annotations();
  if (all != nullptr && !all->contains(name)) (*all)[name] = value;
}

void TemplateEditor::set_amount(json& amounts, const std::string& name, const std::string& value,
                                const Pointer& at) {
  json& stated = amounts[name];
  if (stated.is_null()) stated = value;
  if (same_amount(value_text(stated), value)) return;
  fail(wrong_field(at / name, quoted_value(value_text(stated)) +
                                  " is stated, and a worker of this job needs " + value +
                                  ". Leave it out, or make the annotations of the job say the same")
           .value());
}

void TemplateEditor::set_resources(int cpus, std::optional<Bytes> memory) {
  json* container = first_container();
  if (container == nullptr) return;
  const Pointer here = at_ / "spec" / "containers" / std::size_t{0};
  json* resources = keep(member(*container, "resources", json::value_t::object, here));
  if (resources == nullptr) return;
  for (const char* side : {"limits", "requests"}) {
    const Pointer at = here / "resources";
    json* amounts = keep(member(*resources, side, json::value_t::object, at));
    if (amounts == nullptr) return;
    set_amount(*amounts, "cpu", std::to_string(cpus), at / side);
    if (memory) set_amount(*amounts, "memory", quantity_text(*memory), at / side);
  }
}

bool TemplateEditor::set_scheduler(const std::string& name) {
  json* spec = keep(member(pod_, "spec", json::value_t::object, at_));
  if (spec == nullptr) return true;
  const std::string stated = kube::json_text(*spec, "schedulerName");
  if (stated == name) return true;
  // "default-scheduler" is what the API server fills in.
  if (!stated.empty() && stated != "default-scheduler") return false;
  (*spec)["schedulerName"] = name;
  return true;
}

void TemplateEditor::gate(const std::string& name) {
  json* spec = keep(member(pod_, "spec", json::value_t::object, at_));
  if (spec == nullptr) return;
  json* gates = keep(member(*spec, "schedulingGates", json::value_t::array, at_ / "spec"));
  if (gates != nullptr && named(*gates, name) == nullptr) gates->push_back({{"name", name}});
}

void TemplateEditor::mount_hostfile(const std::string& config_map) {
  json* container = first_container();
  if (container == nullptr) return;
  json& spec = pod_["spec"];
  json* volumes = keep(member(spec, "volumes", json::value_t::array, at_ / "spec"));
  const Pointer here = at_ / "spec" / "containers" / std::size_t{0};
  json* mounts = keep(member(*container, "volumeMounts", json::value_t::array, here));
  if (volumes == nullptr || mounts == nullptr) return;
  const json volume = {{"name", kVolume}, {"configMap", {{"name", config_map}}}};
  if (const json* other = named(*volumes, kVolume); other != nullptr && *other != volume) {
    return fail(wrong_field(at_ / "spec" / "volumes",
                            std::string("a volume called ") + kVolume + " is there already")
                    .value());
  }
  if (named(*volumes, kVolume) == nullptr) volumes->push_back(volume);
  if (named(*mounts, kVolume) != nullptr) return;
  mounts->push_back({{"name", kVolume}, {"mountPath", kHostfileFolder}, {"readOnly", true}});
}

void TemplateEditor::suggest_env(const std::string& name, const std::string& value) {
  json* container = first_container();
  if (container == nullptr) return;
  const Pointer here = at_ / "spec" / "containers" / std::size_t{0};
  json* variables = keep(member(*container, "env", json::value_t::array, here));
  if (variables == nullptr || named(*variables, name) != nullptr) return;
  variables->push_back({{"name", name}, {"value", value}});
}

}  // namespace pinion::cluster::jobs
