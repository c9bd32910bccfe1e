// AdmissionReviews as a kube-apiserver 1.34 sent them, and changes to the objects in them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cluster/extender/jobs/mutation.h"

namespace pinion::cluster::jobs {

using nlohmann::json;

// NAME.json of this folder.
std::string reviews_file(const std::string& name);

// data/NAME.json. A test that cannot read it fails.
std::string captured_text(const std::string& name);
json captured_object(const std::string& name);

// The captured object after a JSON merge patch (RFC 7396), in which null takes a field away.
json captured_object(const std::string& name, const std::string& merge_patch);

// As captured_object, with these annotations (a JSON object) on it.
json asking(const std::string& name, const std::string& annotations,
            const std::string& merge_patch = "{}");

// The object with what the mutation asks for.
json applied(const json& object, const Mutation& mutation);

// Chooses on so many nodes; auto chooses as granularity does.
Choose nodes_there(int count);

}  // namespace pinion::cluster::jobs
