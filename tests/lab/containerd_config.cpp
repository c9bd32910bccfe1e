#include "tests/lab/containerd_config.h"

#include "tests/lab/cri_client.h"

namespace pinion::lab {
namespace {

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string milliseconds(Milliseconds value) {
  return quoted(std::to_string(value.count()) + "ms");
}

// The runc part, below the table of the CRI plugin's runtimes.
std::string runc_table(const std::string& plugin, const std::string& runc) {
  const std::string table = "[plugins." + quoted(plugin) + ".containerd.runtimes.runc";
  return table + "]\nruntime_type = \"io.containerd.runc.v2\"\n" + table +
         ".options]\nBinaryName = " + quoted(runc) + "\nSystemdCgroup = false\n";
}

// restrict_oom_score_adj: containers start even where CAP_SYS_RESOURCE is missing.
// disable_apparmor: else a profile would be loaded into the machine's kernel.
std::string cri_common(const std::string& dir, const std::string& plugin) {
  return "restrict_oom_score_adj = true\ndisable_apparmor = true\n[plugins." + quoted(plugin) +
         ".cni]\nbin_dir = " + quoted(dir + "/cni/bin") +
         "\nconf_dir = " + quoted(dir + "/cni/conf") + "\n";
}

std::string cri_version2(const ContainerdConfig& config) {
  const std::string plugin = "io.containerd.grpc.v1.cri";
  return "[plugins." + quoted(plugin) + "]\nsandbox_image = " + quoted(kImage) + "\n" +
         cri_common(config.dir, plugin) + "[plugins." + quoted(plugin) +
         ".containerd]\nsnapshotter = \"overlayfs\"\ndefault_runtime_name = \"runc\"\n" +
         runc_table(plugin, config.runc);
}

std::string cri_version3(const ContainerdConfig& config) {
  const std::string plugin = "io.containerd.cri.v1.runtime";
  return "[plugins." + quoted(plugin) + "]\n" + cri_common(config.dir, plugin) + "[plugins." +
         quoted(plugin) + ".containerd]\ndefault_runtime_name = \"runc\"\n" +
         runc_table(plugin, config.runc) +
         "[plugins.\"io.containerd.cri.v1.images\"]\nsnapshotter = \"overlayfs\"\n"
         "[plugins.\"io.containerd.cri.v1.images\".pinned_images]\nsandbox = " +
         quoted(kImage) + "\n";
}

}  // namespace

std::string to_toml(const ContainerdConfig& config) {
  const std::string& dir = config.dir;
  std::string text = config.version3 ? "version = 3\n" : "version = 2\n";
  text += "root = " + quoted(dir + "/root") + "\nstate = " + quoted(dir + "/state") + "\n";
  text += "[grpc]\naddress = " + quoted(dir + "/containerd.sock") + "\n";
  text += "[ttrpc]\naddress = " + quoted(dir + "/containerd.sock.ttrpc") + "\n";
  text += "[plugins.\"io.containerd.internal.v1.opt\"]\npath = " + quoted(dir + "/opt") + "\n";
  text += "[plugins.\"io.containerd.nri.v1.nri\"]\ndisable = false\ndisable_connections = false\n";
  text += "socket_path = " + quoted(dir + "/nri.sock") + "\n";
  text += "plugin_path = " + quoted(dir + "/nri/plugins") + "\n";
  text += "plugin_config_path = " + quoted(dir + "/nri/conf.d") + "\n";
  text += "plugin_registration_timeout = " + milliseconds(config.registration_timeout) + "\n";
  text += "plugin_request_timeout = " + milliseconds(config.request_timeout) + "\n";
  if (!config.required_plugin.empty()) {
    text += "[plugins.\"io.containerd.nri.v1.nri\".default_validator]\nenable = true\n";
    text += "required_plugins = [" + quoted(config.required_plugin) + "]\n";
    text += "tolerate_missing_plugins_annotation = " + quoted(kTolerated) + "\n";
  }
  return text + (config.version3 ? cri_version3(config) : cri_version2(config));
}

}  // namespace pinion::lab
