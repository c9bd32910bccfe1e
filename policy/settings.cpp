#include "policy/settings.h"

#include <yaml-cpp/yaml.h>

#include <utility>

#include "base/utf8.h"

namespace pinion::policy {
namespace {

using settings::Setting;
using topology::Align;
using topology::Smt;
using topology::Strength;

Setting exclusive_namespaces(std::set<std::string>& namespaces) {
  return {.key = "exclusiveNamespaces",
          .help = "Namespaces of pods that get CPUs of their own, with commas [all]",
          .set = [&namespaces](const std::string& value) -> Status {
            std::set<std::string> names;
            for (std::string& name : settings::parts_of(value, ',')) {
              constexpr auto known = "abcdefghijklmnopqrstuvwxyz0123456789-";
              if (name.empty() || name.size() > 63 ||
                  name.find_first_not_of(known) != std::string::npos) {
                return failure(Errc::kInvalid, quoted_value(name) + " is no name of a namespace");
              }
              names.insert(std::move(name));
            }
            namespaces = std::move(names);
            return {};
          },
          .show = [&namespaces] { return joined(namespaces, ","); }};
}

Status set_vm_handlers(const std::string& value, std::vector<std::string>& handlers) {
  std::vector<std::string> names = settings::parts_of(value, ',');
  for (const std::string& name : names) {
    constexpr auto known = "abcdefghijklmnopqrstuvwxyz0123456789-.";
    const auto end = name.find_first_not_of(known);
    const bool open = !name.empty() && end == name.size() - 1 && name.back() == '*';
    if (name.empty() || name.size() > 63 || (end != std::string::npos && !open)) {
      return failure(Errc::kInvalid, quoted_value(name) +
                                         " is no name of a runtime handler, nor the beginning of "
                                         "one and a '*'");
    }
  }
  handlers = std::move(names);
  return {};
}

Setting vm_handlers(std::vector<std::string>& handlers) {
  return {.key = "vmRuntimeHandlers",
          .help =
              "Runtime handlers whose pods are virtual machines, with commas; they get no CPUs "
              "of their own [kata*]",
          .set = [&handlers](const std::string& value) { return set_vm_handlers(value, handlers); },
          .show = [&handlers] { return joined(handlers, ","); }};
}

Setting cpu_manager() {
  return {.key = "cpuManagerPolicy",
          .help = {},
          .set = [](const std::string& value) -> Status {
            if (value == "static") return {};
            return settings::unknown_value(
                value, "static (Pinion is that policy; to switch it off, stop the agent)");
          },
          .show = [] { return std::string("static"); }};
}

// The kubelet's topology manager policies, as far as they have a meaning here.
Status set_topology_manager(const std::string& value, Defaults& defaults) {
  if (value == "single-numa-node") {
    defaults.align = Align::kNuma;
    defaults.strength = Strength::kRequired;
  } else if (value == "best-effort") {
    defaults.align = Align::kNuma;
    defaults.strength = Strength::kPreferred;
  } else if (value == "none") {
    defaults.align = Align::kNone;
    defaults.strength.reset();
  } else {
    return settings::unknown_value(
        value, "single-numa-node, best-effort, none (restricted has no counterpart)");
  }
  return {};
}

std::string topology_manager_line(const Defaults& defaults) {
  if (defaults.align == Align::kNone) return "topologyManagerPolicy: none\n";
  if (!defaults.strength) return "";
  const bool required = defaults.strength == Strength::kRequired;
  return std::string("topologyManagerPolicy: ") +
         (required ? "single-numa-node\n" : "best-effort\n");
}

Setting topology_manager(Defaults& defaults) {
  return {.key = "topologyManagerPolicy",
          .help = {},
          .set = [&defaults](
                     const std::string& value) { return set_topology_manager(value, defaults); },
          .show = {},
          .show_lines = [&defaults] { return topology_manager_line(defaults); }};
}

// An entry of the kubelet's cpuManagerPolicyOptions.
Status set_option(const std::string& name, const std::string& value, Defaults& defaults,
                  bool& strict_reservation) {
  const auto on = settings::parse_bool(value);
  if (!on) return failure(on.error().within(quoted_value(name)));
  if (name == "full-pcpus-only") {
    defaults.smt = *on ? Smt::kFullCore : Smt::kPreferFull;
  } else if (name == "strict-cpu-reservation") {
    strict_reservation = *on;
  } else if (name == "align-by-socket") {
    if (!*on) return {};
    // The default strength is required by that policy alone, which is read before. The kubelet does
    // not start either: a socket may have several NUMA nodes.
    if (defaults.strength == Strength::kRequired) {
      return failure(Errc::kInvalid,
                     "align-by-socket cannot go with topologyManagerPolicy: single-numa-node");
    }
    defaults.align = Align::kSocket;
  } else if (name == "prefer-align-cpus-by-uncorecache") {
    if (*on) defaults.align = Align::kL3;
  } else {
    return failure(Errc::kInvalid,
                   "policy option " + quoted_value(name) +
                       " is not supported, use one of: full-pcpus-only, strict-cpu-reservation, "
                       "align-by-socket, prefer-align-cpus-by-uncorecache");
  }
  return {};
}

tl::unexpected<Error> no_options() {
  return failure(Errc::kInvalid, "expected a map of option: \"true\" or \"false\"");
}

Status set_options(const YAML::Node& options, Defaults& defaults, bool& strict_reservation) {
  if (!options.IsMap()) return no_options();
  std::set<std::string> names;
  for (const auto& entry : options) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) return no_options();
    const std::string& name = entry.first.Scalar();
    Status done = set_option(name, entry.second.Scalar(), defaults, strict_reservation);
    if (done && !names.insert(name).second) done = failure(Errc::kInvalid, name + ": set twice");
    if (!done) return failure(done.error().within(settings::at_line(entry.first)));
  }
  return {};
}

std::string option_lines(const Defaults& defaults, bool strict_reservation) {
  const auto line = [](const char* name, bool on) {
    return std::string("  ") + name + (on ? ": 'true'\n" : ": 'false'\n");
  };
  return "cpuManagerPolicyOptions:\n" + line("full-pcpus-only", defaults.smt == Smt::kFullCore) +
         line("strict-cpu-reservation", strict_reservation) +
         line("align-by-socket", defaults.align == Align::kSocket) +
         line("prefer-align-cpus-by-uncorecache", defaults.align == Align::kL3);
}

Setting options(Defaults& defaults, bool& strict_reservation) {
  return {
      .key = "cpuManagerPolicyOptions",
      .help = {},
      .set = [](const std::string& /*value*/) -> Status { return no_options(); },
      .show = {},
      .set_tree =
          [&defaults, &strict_reservation](const YAML::Node& value) {
            return set_options(value, defaults, strict_reservation);
          },
      .show_lines = [&defaults,
                     &strict_reservation] { return option_lines(defaults, strict_reservation); }};
}

}  // namespace

Setting allowed_privileges(std::set<Privilege>& privileges) {
  return settings::words(
      "allowedPrivileges",
      "What annotations may ask: some of one-per-core,isolated,near-device [near-device]",
      privileges, kPrivilegeWords);
}

Setting strict_cpu_reservation(bool& strict_reservation) {
  return {.key = {},
          .help = "Keep reserved CPUs for kube-system alone",
          .set = [&strict_reservation](const std::string& /*value*/) -> Status {
            strict_reservation = true;
            return {};
          },
          .show = {},
          .flag = "--strict-cpu-reservation"};
}

std::vector<Setting> settings_of(Defaults& defaults, bool& strict_reservation) {
  return {settings::word("exclusivePods",
                         "Guaranteed pods that get CPUs of their own: guaranteed (all) | "
                         "annotated [guaranteed]",
                         defaults.pods, kExclusivePodsWords),
          exclusive_namespaces(defaults.namespaces), allowed_privileges(defaults.privileges),
          vm_handlers(defaults.vm_handlers), cpu_manager(),
          // The options refine what the topology manager's policy says, so they come after it.
          topology_manager(defaults), options(defaults, strict_reservation),
          strict_cpu_reservation(strict_reservation)};
}

}  // namespace pinion::policy
