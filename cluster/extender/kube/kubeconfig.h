// What a kubeconfig file says, as text; no file is read here.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::kube {

// A value of the file, or the name of a file that holds it; neither when both are empty.
struct InlineOrFile {
  std::string data;  // already decoded from base64
  std::string file;
};

// The chosen context's cluster and user, put together.
struct Kubeconfig {
  std::string server;
  std::string server_name;
  std::string proxy;
  bool insecure = false;
  InlineOrFile ca;
  InlineOrFile certificate;
  InlineOrFile key;
  std::string token;
  std::string token_file;
  std::string name_space;
};

// Errors: kInvalid, naming the key.
Result<Kubeconfig> parse_kubeconfig(const std::string& text, const std::string& context = "");

}  // namespace pinion::kube
