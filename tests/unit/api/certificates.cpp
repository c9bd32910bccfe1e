#include "tests/unit/api/certificates.h"

#include <cstdlib>
#include <fstream>

namespace pinion::agent::api {
namespace {

bool run(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

std::string quoted(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

bool make_leaf(const std::filesystem::path& folder, const std::string& who,
               const std::string& extensions) {
  std::ofstream(folder / (who + ".ext")) << extensions << "\n";
  const std::string base = quoted(folder / who);
  return run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + who +
             " -keyout " + base + ".key -out " + base + ".csr") &&
         run("openssl x509 -req -days 2 -in " + base + ".csr -CA " + quoted(folder / "ca.crt") +
             " -CAkey " + quoted(folder / "ca.key") + " -CAcreateserial -extfile " + base +
             ".ext -out " + base + ".crt");
}

}  // namespace

bool has_openssl() {
  return run("openssl version");
}

bool make_certificates(const std::filesystem::path& directory, const std::string& name) {
  const std::filesystem::path folder = directory / name;
  std::filesystem::create_directories(folder);
  return run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
             "/CN=" +
             name + " -keyout " + quoted(folder / "ca.key") + " -out " +
             quoted(folder / "ca.crt")) &&
         make_leaf(folder, "server", "subjectAltName=IP:127.0.0.1,DNS:agent.test") &&
         make_leaf(folder, "client", "extendedKeyUsage=clientAuth");
}

bool make_certificate(const std::filesystem::path& directory, const std::string& name,
                      const std::string& who, const std::string& alternative_names) {
  return make_leaf(directory / name, who, "subjectAltName=" + alternative_names);
}

TlsFiles files_of(const std::filesystem::path& directory, const std::string& name,
                  const std::string& who) {
  const std::filesystem::path folder = directory / name;
  return {.certificate = folder / (who + ".crt"),
          .key = folder / (who + ".key"),
          .ca = folder / "ca.crt"};
}

}  // namespace pinion::agent::api
