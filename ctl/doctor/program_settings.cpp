#include "ctl/doctor/program_settings.h"

#include <yaml-cpp/yaml.h>

namespace pinion::ctl::doctor {
namespace {

Status apply_file(const std::string& text, const std::vector<ProgramKey>& keys,
                  ProgramSettings& settings) {
  const YAML::Node map = YAML::Load(text);
  if (map.IsNull()) return {};
  if (!map.IsMap()) return failure(Errc::kInvalid, "not a map");
  for (const ProgramKey& each : keys) {
    const YAML::Node node = map[each.key];
    if (node.IsDefined() && node.IsScalar()) settings[each.key] = node.Scalar();
  }
  return {};
}

}  // namespace

Result<ProgramSettings> program_settings(const std::optional<std::string>& file,
                                         const std::vector<std::string>& arguments,
                                         const std::vector<ProgramKey>& keys) {
  ProgramSettings settings;
  if (file) {
    try {
      if (Status applied = apply_file(*file, keys, settings); !applied) {
        return failure(applied.error());
      }
    } catch (const YAML::Exception& error) {
      return failure(Errc::kInvalid, error.what());
    }
  }
  for (const ProgramKey& each : keys) {
    if (const auto value = flag_value(arguments, each.flag)) settings[each.key] = *value;
  }
  return settings;
}

std::string value_of(const ProgramSettings& settings, const std::string& key,
                     const std::string& otherwise) {
  const auto found = settings.find(key);
  return found == settings.end() ? otherwise : found->second;
}

}  // namespace pinion::ctl::doctor
