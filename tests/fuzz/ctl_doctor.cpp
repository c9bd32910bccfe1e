// What pinionctl doctor reads: files of other programs, certificates, answers of the API server.
// The first byte says which.
#include <cstddef>
#include <cstdint>
#include <string>

#include "ctl/doctor/cluster_objects.h"
#include "ctl/doctor/containerd_config.h"
#include "ctl/doctor/kubelet_config.h"
#include "ctl/doctor/processes.h"
#include "ctl/doctor/program_settings.h"
#include "ctl/doctor/report.h"
#include "metrics/host_processes.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::ctl_doctor {
PINION_FUZZ_TARGET(ctl_doctor) {
  using namespace pinion::ctl::doctor;
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'k': {
      KubeletSettings settings;
      (void)apply_kubelet_config(text, settings);
      break;
    }
    case 's':
      (void)policy_of_state(text);
      break;
    case 't': {
      ContainerdSettings settings;
      (void)apply_containerd_config(text, settings);
      break;
    }
    case 'p':
      (void)program_settings(text, {}, {{"apiListen", "api-listen"}});
      break;
    case 'g':
      (void)metrics::host_unit(text);
      (void)effective_capabilities(text);
      break;
    case 'c':
      (void)x509::read_certificates(text);
      break;
    case 'o':
      (void)read_nodes(text);
      (void)read_pods(text);
      (void)read_webhooks(text);
      (void)read_renewals(text);
      break;
    case 'm':
      (void)read_series(text);
      break;
    default:
      (void)draw_report({good("id", text)}, true);
      (void)report_json({good("id", text)});
  }
  return 0;
}

}  // namespace pinion::fuzz::ctl_doctor
