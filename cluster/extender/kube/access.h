// How the API server is reached and who we are there: from a kubeconfig file, or inside a pod from
// its service account.
#pragma once

#include <string>

#include "base/error.h"
#include "cluster/extender/kube/endpoint.h"

namespace pinion::kube {

struct Access {
  std::string source;  // for messages: the kubeconfig's path, "the pod's service account"
  Endpoint endpoint;
  std::string server_name;  // that the certificate must have; empty: the endpoint's host
  bool verify = true;       // the server's certificate
  std::string proxy;        // URL, see proxy.h; empty: as HTTPS_PROXY and NO_PROXY say

  // PEM. Without a CA the system's authorities are trusted.
  std::string ca;
  std::string certificate;  // of ours, with its chain
  std::string key;          // of it

  std::string token;       // sent as it is; or
  std::string token_file;  // read again every minute and after a 401, see token.h

  std::string default_namespace = "default";
};

struct KubeconfigOptions {
  std::string context;          // empty: the file's current-context
  bool allow_insecure = false;  // whether insecure-skip-tls-verify: true is obeyed or refused
};

// Of server, certificate-authority(-data), insecure-skip-tls-verify, tls-server-name, proxy-url,
// client-certificate(-data), client-key(-data), token and tokenFile, -data winning over a file as
// with kubectl; relative paths are the kubeconfig's folder's. Errors name the file and the key:
// kNotFound and kDenied for files, kInvalid for the rest, which includes what is there and not
// supported: exec, auth-provider, user names with passwords, impersonation.
Result<Access> read_kubeconfig(const std::string& path, const KubeconfigOptions& options = {});

struct InClusterOptions {
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
  std::string host;  // empty: the environment's KUBERNETES_SERVICE_HOST
  std::string port;  // empty: KUBERNETES_SERVICE_PORT
};

// Errors: kNotFound outside a pod or without a service account's token, kInvalid, kDenied.
Result<Access> read_in_cluster(const InClusterOptions& options = {});

// As a daemon is told: of this kubeconfig and its context, or with none of the pod it runs in.
Result<Access> read_access(const std::string& kubeconfig, const std::string& context);

}  // namespace pinion::kube
