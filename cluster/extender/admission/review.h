// AdmissionReview of admission.k8s.io/v1: what the API server asks a webhook, and the answer.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pinion::cluster::admission {

struct Review {
  std::string uid;        // of the request, never empty
  std::string operation;  // "CREATE", "UPDATE", ...
  std::string name_space;
  std::string sub_resource;  // empty: the object itself
  bool dry_run = false;
  nlohmann::json object;  // an object of JSON, or null (DELETE)
};

// Errors: kInvalid, saying where, for anything else than a review of that version.
Result<Review> read_review(std::string_view body);

struct Verdict {
  bool allowed = true;
  std::string message;                             // where not allowed: for the user
  nlohmann::json patch = nlohmann::json::array();  // RFC 6902; empty: none
  std::vector<std::string> warnings;
};

// The body of the answer to the request with that uid.
[[nodiscard]] std::string to_json(const std::string& uid, const Verdict& verdict);

}  // namespace pinion::cluster::admission
