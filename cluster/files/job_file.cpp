#include "cluster/files/job_file.h"

#include <charconv>

#include "base/cli/yaml_entry.h"
#include "base/yaml_documents.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 100;
constexpr std::size_t kMaxDocuments = 1000;

template <class T>
bool reads_as(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc() && read.ptr == end;
}

json scalar_of(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() != "?") return text;  // in quotes, or a block
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  if (text == "null" || text == "Null" || text == "NULL" || text == "~" || text.empty()) return {};
  std::int64_t whole = 0;
  if (reads_as(text, whole)) return whole;
  double fraction = 0;
  const bool number = text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  if (number && reads_as(text, fraction)) return fraction;
  return text;
}

// The depth is checked before anything recurses.
Result<json> json_of(const YAML::Node& node, int depth) {
  if (depth > kMaxDepth) return yaml_error(node, "nested too deeply");
  if (node.IsScalar()) return scalar_of(node);
  json value;
  if (node.IsSequence()) {
    value = json::array();
    for (const YAML::Node& item : node) {
      auto read = json_of(item, depth + 1);
      if (!read) return read;
      value.push_back(std::move(*read));
    }
  } else if (node.IsMap()) {
    value = json::object();
    for (const auto& pair : node) {
      if (!pair.first.IsScalar()) return yaml_error(pair.first, "a key must be a word");
      auto read = json_of(pair.second, depth + 1);
      if (!read) return read;
      value[pair.first.Scalar()] = std::move(*read);
    }
  }
  return value;
}

}  // namespace

Result<std::vector<json>> parse_objects(const std::string& text) {
  if (Status fit = check_characters(text); !fit) return failure(std::move(fit.error()));
  try {
    std::vector<json> objects;
    const std::vector<YamlDocument> documents = yaml_documents(text);
    if (documents.size() > kMaxDocuments) {
      return failure(Errc::kInvalid, "more than " + std::to_string(kMaxDocuments) + " documents");
    }
    for (const YamlDocument& one : documents) {
      const YAML::Node document = YAML::Load(alone(one));
      auto object = json_of(document, 0);
      if (!object) return failure(std::move(object.error()));
      if (object->is_null()) continue;
      if (!object->is_object()) return yaml_error(document, "not a Kubernetes object");
      objects.push_back(std::move(*object));
    }
    return objects;
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid, yaml_line(error.mark) + error.msg);
  }
}

}  // namespace pinion::cluster
