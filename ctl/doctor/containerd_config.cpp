#include "ctl/doctor/containerd_config.h"

#define TOML_EXCEPTIONS 0
// toml++ 3.3 asserts that a key follows "[" before it looks, and has an error for what is none.
#define TOML_ASSERT(expr) static_assert(true)
#include <toml++/toml.h>

namespace pinion::ctl::doctor {
namespace {

// The table at these keys; null where there is none.
const toml::table* table_at(const toml::table& root, std::initializer_list<const char*> keys) {
  const toml::table* table = &root;
  for (const char* key : keys) {
    const toml::node* node = table->get(key);
    table = node == nullptr ? nullptr : node->as_table();
    if (table == nullptr) return nullptr;
  }
  return table;
}

void set_bool(const toml::table& table, const char* key, std::optional<bool>& value) {
  if (const toml::node* node = table.get(key)) {
    if (const auto found = node->value<bool>()) value = *found;
  }
}

void set_nri(const toml::table& root, ContainerdSettings& settings) {
  const toml::table* nri = table_at(root, {"plugins", "io.containerd.nri.v1.nri"});
  if (nri == nullptr) return;
  set_bool(*nri, "disable", settings.nri_disabled);
  set_bool(*nri, "disable_connections", settings.connections_disabled);
  if (const toml::node* socket = nri->get("socket_path")) {
    settings.nri_socket = socket->value_or(settings.nri_socket);
  }
}

// In the format 1, 2 and 3.
void set_driver(const toml::table& root, ContainerdSettings& settings) {
  for (const char* cri : {"cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"}) {
    const toml::table* options =
        table_at(root, {"plugins", cri, "containerd", "runtimes", "runc", "options"});
    if (options != nullptr) set_bool(*options, "SystemdCgroup", settings.systemd_cgroup);
  }
}

void set_imports(const toml::table& root, ContainerdSettings& settings) {
  const toml::node* node = root.get("imports");
  const toml::array* list = node == nullptr ? nullptr : node->as_array();
  if (list == nullptr) return;
  for (const toml::node& each : *list) {
    if (const auto pattern = each.value<std::string>()) settings.imports.push_back(*pattern);
  }
}

// What toml++ 3.3 makes of letters beyond ASCII that stand outside of strings and comments is
// undefined (is_non_ascii_horizontal_whitespace() of U+02A6), and there TOML allows none.
std::string in_ascii(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

}  // namespace

Status apply_containerd_config(const std::string& text, ContainerdSettings& settings) {
  const toml::parse_result parsed = toml::parse(in_ascii(text));
  if (!parsed) {
    return failure(Errc::kInvalid, "line " + std::to_string(parsed.error().source().begin.line) +
                                       ": " + std::string(parsed.error().description()));
  }
  const toml::table& root = parsed.table();
  if (const toml::node* version = root.get("version")) {
    settings.version = version->value_or(settings.version);
  }
  set_nri(root, settings);
  set_driver(root, settings);
  set_imports(root, settings);
  return {};
}

}  // namespace pinion::ctl::doctor
