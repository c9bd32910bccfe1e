#include "cluster/extender/kube/kubeconfig.h"

#include <yaml-cpp/yaml.h>

#include <array>
#include <utility>

#include "cluster/extender/kube/base64.h"

namespace pinion::kube {
namespace {

// One mapping of the file and how it is called in messages.
struct Section {
  YAML::Node node;
  std::string name;
};

struct Unsupported {
  const char* key;
  const char* instead;
};

constexpr std::array kUserUnsupported{
    Unsupported{"exec", "use token, tokenFile or a client certificate"},
    Unsupported{"auth-provider", "use token, tokenFile or a client certificate"},
    Unsupported{"username", "API servers know no passwords any more"},
    Unsupported{"password", "API servers know no passwords any more"},
    Unsupported{"as", "use the credentials of the user itself"},
    Unsupported{"as-uid", "use the credentials of the user itself"},
    Unsupported{"as-groups", "use the credentials of the user itself"},
    Unsupported{"as-user-extra", "use the credentials of the user itself"},
};

bool given(const YAML::Node& node) {
  return node.IsDefined() && !node.IsNull();
}

Status get_text(const Section& section, const char* key, std::string& text) {
  const YAML::Node value = section.node[key];
  if (!given(value)) return {};
  if (!value.IsScalar()) return failure(Errc::kInvalid, section.name + "." + key + " is no text");
  text = value.Scalar();
  return {};
}

Status get_bool(const Section& section, const char* key, bool& on) {
  std::string text;
  if (Status read = get_text(section, key, text); !read) return read;
  if (text.empty() || text == "false") return {};
  on = text == "true";
  if (on) return {};
  return failure(Errc::kInvalid,
                 section.name + "." + key + ": '" + text + "' is neither true nor false");
}

// KEY-data (base64) or KEY (a file).
Status get_either(const Section& section, const std::string& key, InlineOrFile& value) {
  const std::string data_key = key + "-data";
  std::string encoded;
  if (Status read = get_text(section, data_key.c_str(), encoded); !read) return read;
  if (encoded.empty()) return get_text(section, key.c_str(), value.file);
  auto decoded = decode_base64(encoded);
  if (!decoded) return failure(decoded.error().within(section.name + "." + data_key));
  value.data = *std::move(decoded);
  return {};
}

Status refuse_unsupported(const Section& section) {
  for (const auto& [key, instead] : kUserUnsupported) {
    if (!given(section.node[key])) continue;
    return failure(Errc::kInvalid,
                   section.name + "." + key + " is not supported: " + std::string(instead));
  }
  return {};
}

// The entry named `name` of a list such as clusters: [{name: a, cluster: {...}}].
Result<Section> find_entry(const YAML::Node& root, const std::string& list, const std::string& kind,
                           const std::string& name) {
  const YAML::Node entries = root[list];
  if (!entries.IsSequence()) return failure(Errc::kInvalid, list + " is no list");
  for (const YAML::Node& entry : entries) {
    if (!entry.IsMap() || !given(entry["name"]) || !entry["name"].IsScalar()) continue;
    if (entry["name"].Scalar() != name) continue;
    if (!entry[kind].IsMap()) break;
    std::string called = list;
    called.append("[").append(name).append("].").append(kind);
    return Section{.node = entry[kind], .name = std::move(called)};
  }
  return failure(Errc::kInvalid, list + " has no entry '" + name + "' with a '" + kind + "'");
}

Status read_cluster(const Section& cluster, Kubeconfig& config) {
  if (Status read = get_text(cluster, "server", config.server); !read) return read;
  if (config.server.empty()) return failure(Errc::kInvalid, cluster.name + ".server is missing");
  if (Status read = get_text(cluster, "tls-server-name", config.server_name); !read) return read;
  if (Status read = get_text(cluster, "proxy-url", config.proxy); !read) return read;
  if (Status read = get_bool(cluster, "insecure-skip-tls-verify", config.insecure); !read) {
    return read;
  }
  return get_either(cluster, "certificate-authority", config.ca);
}

Status read_user(const Section& user, Kubeconfig& config) {
  if (Status known = refuse_unsupported(user); !known) return known;
  if (Status read = get_either(user, "client-certificate", config.certificate); !read) return read;
  if (Status read = get_either(user, "client-key", config.key); !read) return read;
  if (Status read = get_text(user, "token", config.token); !read) return read;
  return get_text(user, "tokenFile", config.token_file);
}

Status read_all(const YAML::Node& root, const std::string& wanted, Kubeconfig& config) {
  if (!root.IsMap()) return failure(Errc::kInvalid, "no kubeconfig: the file is no mapping");
  std::string name = wanted;
  if (name.empty()) {
    const Section top{.node = root, .name = "kubeconfig"};
    if (Status read = get_text(top, "current-context", name); !read) return read;
  }
  if (name.empty()) return failure(Errc::kInvalid, "current-context is missing");
  const auto context = find_entry(root, "contexts", "context", name);
  if (!context) return failure(context.error());
  std::string cluster_name;
  std::string user_name;
  if (Status read = get_text(*context, "cluster", cluster_name); !read) return read;
  if (Status read = get_text(*context, "user", user_name); !read) return read;
  if (Status read = get_text(*context, "namespace", config.name_space); !read) return read;
  const auto cluster = find_entry(root, "clusters", "cluster", cluster_name);
  if (!cluster) return failure(cluster.error());
  if (Status read = read_cluster(*cluster, config); !read) return read;
  if (user_name.empty()) return {};  // nobody in particular
  const auto user = find_entry(root, "users", "user", user_name);
  if (!user) return failure(user.error());
  return read_user(*user, config);
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(const std::string& text, const std::string& context) {
  Kubeconfig config;
  try {
    if (Status read = read_all(YAML::Load(text), context, config); !read) {
      return failure(read.error());
    }
  } catch (const YAML::Exception& error) {
    return failure(Errc::kInvalid, std::string("no YAML: ") + error.what());
  }
  return config;
}

}  // namespace pinion::kube
