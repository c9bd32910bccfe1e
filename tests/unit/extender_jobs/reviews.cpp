#include "tests/unit/extender_jobs/reviews.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/support/places.h"

namespace pinion::cluster::jobs {

std::string reviews_file(const std::string& name) {
  return pinion::test_support::in_checkout("tests/unit/extender_jobs/" + name + ".json");
}

std::string captured_text(const std::string& name) {
  std::ifstream file(reviews_file("data/" + name), std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(text.empty()) << name;
  return text;
}

json captured_object(const std::string& name) {
  return json::parse(captured_text(name)).at("request").at("object");
}

json captured_object(const std::string& name, const std::string& merge_patch) {
  json object = captured_object(name);
  object.merge_patch(json::parse(merge_patch));
  return object;
}

json asking(const std::string& name, const std::string& annotations,
            const std::string& merge_patch) {
  json object = captured_object(name, merge_patch);
  object["metadata"]["annotations"].update(json::parse(annotations));
  return object;
}

json applied(const json& object, const Mutation& mutation) {
  return object.patch(mutation.patch);
}

Choose nodes_there(int count) {
  return [count](const JobShape& job, Policy policy, int nodes, const NodeDemand& /*where*/) {
    const int used = nodes > 0 ? std::min(nodes, count) : count;
    return choose_granularity(job, policy == Policy::kAuto ? Policy::kGranularity : policy, used);
  };
}

}  // namespace pinion::cluster::jobs
