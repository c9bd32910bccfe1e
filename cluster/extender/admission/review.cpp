#include "cluster/extender/admission/review.h"

#include "base/utf8.h"
#include "cluster/extender/admission/body.h"
#include "cluster/extender/kube/base64.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::cluster::admission {
namespace {

using kube::json_at;
using nlohmann::json;

constexpr std::size_t kMaxWarning = 1000;  // the API server cuts what is longer
constexpr int kForbidden = 403;

// Where a field is there, it is a text.
Result<std::string> text_at(const json& parent, const char* name, const std::string& where) {
  const json& value = json_at(parent, name);
  if (value.is_null()) return std::string();
  if (!value.is_string()) return failure(Errc::kInvalid, where + "." + name + ": not a string");
  return value.get<std::string>();
}

Status read_texts(const json& request, Review& review) {
  const auto read = [&](const char* name, std::string& to) -> Status {
    auto text = text_at(request, name, "request");
    if (!text) return failure(std::move(text.error()));
    to = std::move(*text);
    return {};
  };
  if (Status good = read("uid", review.uid); !good) return good;
  if (Status good = read("operation", review.operation); !good) return good;
  if (Status good = read("namespace", review.name_space); !good) return good;
  if (Status good = read("subResource", review.sub_resource); !good) return good;
  if (review.uid.empty()) return failure(Errc::kInvalid, "request.uid: missing");
  if (review.operation.empty()) return failure(Errc::kInvalid, "request.operation: missing");
  return {};
}

}  // namespace

Result<Review> read_review(std::string_view body) {
  auto parsed = parse_body(body);
  if (!parsed) return failure(std::move(parsed.error()));
  if (json_at(*parsed, "apiVersion") != "admission.k8s.io/v1" ||
      json_at(*parsed, "kind") != "AdmissionReview") {
    return failure(Errc::kInvalid, "body: not an AdmissionReview of admission.k8s.io/v1");
  }
  const auto request = parsed->find("request");
  if (request == parsed->end() || !request->is_object())
    return failure(Errc::kInvalid, "request: missing");
  Review review;
  if (Status good = read_texts(*request, review); !good) return failure(std::move(good.error()));
  review.dry_run = json_at(*request, "dryRun") == true;
  const auto object = request->find("object");
  if (object != request->end()) review.object = std::move(*object);
  if (!review.object.is_null() && !review.object.is_object()) {
    return failure(Errc::kInvalid, "request.object: not an object");
  }
  return review;
}

std::string to_json(const std::string& uid, const Verdict& verdict) {
  json response = {{"uid", uid}, {"allowed", verdict.allowed}};
  if (!verdict.allowed) {
    response["status"] = {{"code", kForbidden}, {"message", verdict.message}};
  } else if (!verdict.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = kube::encode_base64(kube::json_dump(verdict.patch));
  }
  for (const std::string& warning : verdict.warnings) {
    response["warnings"].push_back(cut_utf8(warning, kMaxWarning));
  }
  return kube::json_dump({{"apiVersion", "admission.k8s.io/v1"},
                          {"kind", "AdmissionReview"},
                          {"response", std::move(response)}});
}

}  // namespace pinion::cluster::admission
