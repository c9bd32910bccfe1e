#include "tests/e2e/crd.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using nlohmann::json;

constexpr lab::Milliseconds kLongest{120'000};

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
  Status served;
  (void)lab::eventually(kLongest, [&] {
    const auto listed = api.list(path_of(crd));
    served = listed ? Status() : failure(listed.error());
    return served.has_value();
  });
  return served;
}

}  // namespace pinion::e2e
