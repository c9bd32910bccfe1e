// The certificates of extender, agents and scheduler, made and renewed by the extender itself where
// nobody else does: in Secrets of its own namespace, its own also in the files that it reads, and
// their authority in its webhook's configuration.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/backoff.h"
#include "base/log/log.h"
#include "cluster/extender/certificates/plan.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/program/config.h"
#include "cluster/extender/program/rounds.h"

namespace pinion::cluster {

class KeepCertificates {
 public:
  struct Options {
    std::string name_space;
    std::vector<std::string> names;  // of the extender's certificate
    std::string certificate;         // files, as Config::tls_cert, tls_key and tls_client_ca
    std::string key;
    std::string authorities;
    std::chrono::milliseconds every{60'000};
  };

  // As the configuration has it; null: it keeps none. Errors: of reaching the API server, naming
  // the setting.
  static Result<std::unique_ptr<KeepCertificates>> start(const Config& config, Log& log);
  // All replicas do so, at the same time: whoever is first, the others follow.
  KeepCertificates(std::unique_ptr<kube::Api> api, Options options, Log& log);
  KeepCertificates(const KeepCertificates&) = delete;
  KeepCertificates& operator=(const KeepCertificates&) = delete;
  ~KeepCertificates();  // what is under way is cut short; Secrets and files stay

  // The files are there.
  [[nodiscard]] bool ready() const { return ready_; }

 private:
  // A Secret as it is on the API server.
  struct Read {
    certificates::Secret data;
    std::string version;
  };

  std::chrono::milliseconds round();
  Status keep();
  Result<Read> read(const std::string& secret);
  Status write(const std::string& secret, const Read& there, const certificates::Step& step);
  Result<nlohmann::json> owner();
  Status write_files(const certificates::Data& own);
  Status tell_webhook(const std::string& authorities);
  [[nodiscard]] kube::Call how() const;

  const std::unique_ptr<kube::Api> api_;
  const Options options_;
  Log& log_;
  kube::Cancel cancel_;
  std::atomic<bool> ready_ = false;
  Backoff backoff_;  // these three are the rounds' alone
  std::string told_trouble_;
  certificates::Data written_;  // in the files
  Rounds rounds_;               // last: it uses all above
};

}  // namespace pinion::cluster
