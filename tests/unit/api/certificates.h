// Throw-away certificates, made by the openssl command.
#pragma once

#include <filesystem>
#include <string>

#include "agent/client/tls.h"

namespace pinion::agent::api {

// Whether there is such a command.
bool has_openssl();

// A CA named `name` and two certificates of it, in DIRECTORY/NAME/: "server", for 127.0.0.1 and
// "agent.test", and "client". False: the command failed.
bool make_certificates(const std::filesystem::path& directory, const std::string& name);

// One more of that CA, for whatever subjectAltName is given, as "DNS:a.test,IP:127.0.0.1".
bool make_certificate(const std::filesystem::path& directory, const std::string& name,
                      const std::string& who, const std::string& alternative_names);

// The files of `who` ("server", "client" or one more) and the CA, as they were made.
TlsFiles files_of(const std::filesystem::path& directory, const std::string& name,
                  const std::string& who);

}  // namespace pinion::agent::api
