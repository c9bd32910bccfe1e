// Private to the folder: a v1 Pod inside a body.
#pragma once

#include "cluster/extender/wire/json.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster::wire {

// Errors: kInvalid, also for a pod without name, namespace or uid.
Status read_pod(PodSpecView& pod, ondemand::value& value, const Where& at);
Status read_pod(PodSpecView& pod, ondemand::object object, const Where& at);

// The uid alone, of a pod that is somebody's victim.
Status read_pod_uid(std::string& uid, ondemand::value& value, const Where& at);

}  // namespace pinion::cluster::wire
