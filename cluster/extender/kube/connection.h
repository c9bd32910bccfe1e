// A connection to the API server, on which libcurl asks one thing after another: HTTP/2 or 1.1,
// TLS, proxies. Everything on it ends at one deadline or by one Cancel.
#pragma once

#include <curl/curl.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cluster/extender/kube/access.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/http.h"

namespace pinion::kube {

using TimePoint = std::chrono::steady_clock::time_point;

class Connection {
 public:
  struct Limits {
    std::chrono::milliseconds connect{0};  // name, proxy, TCP and TLS; above 0
    std::size_t body_bytes = 0;            // that nobody has taken yet
    bool endless = false;                  // no such limit for an answer with status 200
  };

  // For one thread at a time. Nothing is connected yet. `access` must outlive it; its proxy is as
  // read_proxy_url() gives it, or empty. Errors: kExhausted without memory, kInternal when libcurl
  // lacks something.
  static Result<std::unique_ptr<Connection>> create(const Access& access);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // What is asked next; `request` must outlive the answer, which proceed() gets. After one that
  // failed or was given up the connection is of no more use. Errors: as create().
  Status begin(const HttpRequest& request, const std::string& token, const Limits& limits);
  // Waits for more of the answer. False: some has arrived; true: that was all. Errors, naming the
  // server and the step: kUnavailable, also at the deadline and when cancelled; kDenied for a
  // certificate that is not accepted; kExhausted for an answer that is too large; kInvalid for an
  // endpoint that makes no URL.
  Result<bool> proceed(TimePoint until, const Cancel& cancel);

  [[nodiscard]] int status() const { return status_; }  // 0: the answer's head is not there yet
  std::string take_body();  // what has arrived of it since the last time
  [[nodiscard]] bool http2() const;

 private:
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  struct FreeMulti {
    void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
  };
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };
  using List = std::unique_ptr<curl_slist, FreeList>;

  explicit Connection(const Access& access);

  Status set_up();
  void set_up_tls();
  void set_up_headers(const HttpRequest& request, const std::string& token);
  template <class Value>
  void set(CURLoption option, Value value);
  void append(List& list, const std::string& text);
  [[nodiscard]] Status all_set() const;

  Result<bool> finish();
  CURLMcode wait(std::chrono::milliseconds left, const Cancel& cancel);
  [[nodiscard]] const char* step() const;
  [[nodiscard]] Error trouble(Errc code, const std::string& why) const;
  [[nodiscard]] Error trouble(CURLcode code) const;

  // What libcurl calls back, and what it means; 0 bytes taken end the answer.
  static std::size_t on_header(char* bytes, std::size_t one, std::size_t size, void* self) noexcept;
  static std::size_t on_body(char* bytes, std::size_t one, std::size_t size, void* self) noexcept;
  static int on_connected(void* self, char* to, char* from, int to_port, int from_port) noexcept;
  bool take_header(std::string_view line);
  bool take_bytes(std::string_view bytes);

  const Access& access_;
  std::string base_url_;
  std::array<char, CURL_ERROR_SIZE> said_{};  // by libcurl, of what failed
  List connect_to_;
  List headers_;
  std::unique_ptr<CURLM, FreeMulti> multi_;  // it keeps the connection, and poll(2) can wait for it
  std::unique_ptr<CURL, FreeEasy> easy_;
  CURLcode unset_ = CURLE_OK;  // why the first option that libcurl did not take was not taken
  bool running_ = false;

  // Of the present request.
  Limits limits_;
  bool repeatable_ = false;
  bool asked_ = false;  // there is a connection, and the request may be on its way
  bool lost_ = false;   // a kept connection was closed, and the request is not to be repeated
  bool too_large_ = false;
  bool fresh_ = false;  // something has arrived that was not told of yet
  int status_ = 0;
  std::size_t head_bytes_ = 0;
  std::string body_;
};

}  // namespace pinion::kube
