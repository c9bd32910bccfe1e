#include "tests/e2e/crd.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds kLongest{30};
constexpr std::chrono::milliseconds kLook{20};

json object_of(const Crd& crd) {
  const json any = {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  std::string singular(crd.kind);
  std::transform(singular.begin(), singular.end(), singular.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", std::string(crd.plural) + "." + crd.group}}},
          {"spec",
           {{"group", crd.group},
            {"scope", "Namespaced"},
            {"names", {{"kind", crd.kind}, {"plural", crd.plural}, {"singular", singular}}},
            {"versions", json::array({{{"name", crd.version},
                                       {"served", true},
                                       {"storage", true},
                                       {"schema", {{"openAPIV3Schema", any}}}}})}}}};
}

}  // namespace

std::string path_of(const Crd& crd) {
  return std::string("/apis/") + crd.group + "/" + crd.version + "/namespaces/default/" +
         crd.plural;
}

Status add_crd(kube::Api& api, const Crd& crd) {
  const auto made =
      api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object_of(crd));
  if (!made) return failure(made.error());
  const auto until = std::chrono::steady_clock::now() + kLongest;
  while (true) {
    const auto served = api.list(path_of(crd));
    if (served) return {};
    if (std::chrono::steady_clock::now() > until) return failure(served.error());
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace pinion::e2e
