// Lists of the API server, and the extender's metrics, as text. Errors of all: kInvalid for text
// that is not what it should be; what a list's item lacks is passed over.
#pragma once

#include <string>

#include "ctl/doctor/cluster_facts.h"

namespace pinion::ctl::doctor {

Result<std::vector<ClusterNode>> read_nodes(const std::string& json);
Result<std::vector<ClusterPod>> read_pods(const std::string& json);
// Of MutatingWebhookConfigurations.
Result<std::vector<Webhook>> read_webhooks(const std::string& json);
// Of the Leases in kube-node-lease.
Result<std::map<std::string, std::int64_t>> read_renewals(const std::string& json);
// The samples of Prometheus' text format, without their times.
Result<Series> read_series(const std::string& text);

}  // namespace pinion::ctl::doctor
