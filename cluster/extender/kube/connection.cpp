#include "cluster/extender/kube/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pinion::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kUserAgent = "pinion-extender";
constexpr int kFirstFinalStatus = 200;  // those below come before the answer
constexpr int kEndlessStatus = 200;
constexpr std::size_t kHeadBytes = std::size_t{256} << 10;
constexpr milliseconds kLongestPoll{60'000};

// Once in a process, before its first handle.
bool is_libcurl_ready() {
  static const CURLcode made = curl_global_init(CURL_GLOBAL_DEFAULT);
  return made == CURLE_OK;
}

std::string in_url(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

curl_blob blob_of(const std::string& text) {
  // Not written to, and not copied: the Access lives longer.
  return {.data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
}

Errc errc_of(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return Errc::kDenied;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
      return Errc::kInvalid;
    case CURLE_OUT_OF_MEMORY:
      return Errc::kExhausted;
    default:
      return Errc::kUnavailable;
  }
}

}  // namespace

Connection::Connection(const Access& access)
    : access_(access), multi_(curl_multi_init()), easy_(curl_easy_init()) {}

Connection::~Connection() {
  if (running_) curl_multi_remove_handle(multi_.get(), easy_.get());
}

Result<std::unique_ptr<Connection>> Connection::create(const Access& access) {
  if (!is_libcurl_ready()) return failure(Errc::kInternal, "libcurl does not start");
  auto connection = std::unique_ptr<Connection>(new Connection(access));
  if (!connection->multi_ || !connection->easy_) {
    return failure(Errc::kExhausted, "no memory for a connection");
  }
  if (Status done = connection->set_up(); !done) return failure(done.error());
  return connection;
}

template <class Value>
void Connection::set(CURLoption option, Value value) {
  // In brackets: the function, not the macro that looks at its arguments.
  if (unset_ == CURLE_OK) unset_ = (curl_easy_setopt)(easy_.get(), option, value);
}

void Connection::append(List& list, const std::string& text) {
  curl_slist* longer = curl_slist_append(list.get(), text.c_str());
  if (longer == nullptr) {
    unset_ = CURLE_OUT_OF_MEMORY;
    return;
  }
  (void)list.release();
  list.reset(longer);
}

Status Connection::all_set() const {
  if (unset_ == CURLE_OK) return {};
  const Errc code = unset_ == CURLE_OUT_OF_MEMORY ? Errc::kExhausted : Errc::kInternal;
  return failure(code, std::string("prepare a connection: ") + curl_easy_strerror(unset_));
}

Status Connection::set_up() {
  set(CURLOPT_ERRORBUFFER, said_.data());
  set(CURLOPT_PREREQFUNCTION, &Connection::on_connected);
  set(CURLOPT_PREREQDATA, this);
  set(CURLOPT_HEADERFUNCTION, &Connection::on_header);
  set(CURLOPT_HEADERDATA, this);
  set(CURLOPT_WRITEFUNCTION, &Connection::on_body);
  set(CURLOPT_WRITEDATA, this);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name that is being looked up
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_2TLS});
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_USERAGENT, kUserAgent);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  // The environment was asked by who made the Access: libcurl must not look itself.
  set(CURLOPT_PROXY, access_.proxy.c_str());
  set(CURLOPT_NOPROXY, "");
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  base_url_ = access_.endpoint.url();
  if (access_.endpoint.tls) set_up_tls();
  return all_set();
}

void Connection::set_up_tls() {
  set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});  // or newer
  set(CURLOPT_SSL_VERIFYPEER, access_.verify ? 1L : 0L);
  set(CURLOPT_SSL_VERIFYHOST, access_.verify ? 2L : 0L);
  if (!access_.ca.empty()) {
    const curl_blob ca = blob_of(access_.ca);
    set(CURLOPT_CAINFO_BLOB, &ca);
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // else the system's authorities too
  }
  if (!access_.certificate.empty()) {
    const curl_blob certificate = blob_of(access_.certificate);
    const curl_blob key = blob_of(access_.key);
    set(CURLOPT_SSLCERT_BLOB, &certificate);
    set(CURLOPT_SSLKEY_BLOB, &key);
  }
  if (access_.server_name.empty()) return;
  // The URL has the name of the certificate, and the connection goes elsewhere.
  const Endpoint& endpoint = access_.endpoint;
  const std::string port = ":" + std::to_string(endpoint.port);
  base_url_ = "https://" + in_url(access_.server_name) + port + endpoint.path;
  append(connect_to_, "::" + in_url(endpoint.host) + port);
  set(CURLOPT_CONNECT_TO, connect_to_.get());
}

void Connection::set_up_headers(const HttpRequest& request, const std::string& token) {
  headers_.reset();
  append(headers_, "Host: " + access_.endpoint.authority());
  append(headers_, "Accept: application/json");
  append(headers_, "Expect:");  // no waiting for leave to send a large body
  if (!request.content_type.empty()) append(headers_, "Content-Type: " + request.content_type);
  if (!token.empty()) append(headers_, "Authorization: Bearer " + token);
  set(CURLOPT_HTTPHEADER, headers_.get());
}

Status Connection::begin(const HttpRequest& request, const std::string& token,
                         const Limits& limits) {
  limits_ = limits;
  repeatable_ = request.method == "GET";
  asked_ = lost_ = too_large_ = fresh_ = false;
  status_ = 0;
  head_bytes_ = 0;
  body_.clear();
  said_.front() = '\0';
  set(CURLOPT_URL, (base_url_ + request.target).c_str());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(limits.connect.count()));
  if (request.content_type.empty()) {
    set(CURLOPT_HTTPGET, 1L);
  } else {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
  }
  set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set_up_headers(request, token);
  if (Status done = all_set(); !done) return done;
  if (curl_multi_add_handle(multi_.get(), easy_.get()) != CURLM_OK) {
    return failure(Errc::kExhausted, "no memory for a request");
  }
  running_ = true;
  return {};
}

// The deadline counts for bytes that are there already, too: else a server that always has one more
// would be read for ever.
Result<bool> Connection::proceed(TimePoint until, const Cancel& cancel) {
  for (;;) {
    if (cancel.cancelled()) return failure(trouble(Errc::kUnavailable, "cancelled"));
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    if (left <= left.zero()) return failure(trouble(Errc::kUnavailable, "took too long"));
    fresh_ = false;
    int running = 0;
    CURLMcode done = curl_multi_perform(multi_.get(), &running);
    if (fresh_) return false;
    if (running == 0) return finish();
    if (done == CURLM_OK) done = wait(left, cancel);
    if (done != CURLM_OK) return failure(trouble(Errc::kExhausted, curl_multi_strerror(done)));
  }
}

CURLMcode Connection::wait(milliseconds left, const Cancel& cancel) {
  curl_waitfd woken{.fd = cancel.descriptor(), .events = CURL_WAIT_POLLIN, .revents = 0};
  const bool wakes = woken.fd >= 0;
  const milliseconds time = std::min(left, wakes ? kLongestPoll : Cancel::kLook);
  return curl_multi_poll(multi_.get(), &woken, wakes ? 1 : 0, static_cast<int>(time.count()),
                         nullptr);
}

Result<bool> Connection::finish() {
  int more = 0;
  const CURLMsg* message = curl_multi_info_read(multi_.get(), &more);
  const CURLcode code = message == nullptr ? CURLE_FAILED_INIT : message->data.result;
  curl_multi_remove_handle(multi_.get(), easy_.get());
  running_ = false;
  if (code != CURLE_OK) return failure(trouble(code));
  // For libcurl a head that was cut off is one all the same.
  if (status_ == 0) return failure(trouble(Errc::kUnavailable, "it is cut off"));
  return true;
}

std::string Connection::take_body() {
  return std::exchange(body_, std::string());
}

bool Connection::http2() const {
  long version = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_HTTP_VERSION, &version);
  return version == CURL_HTTP_VERSION_2_0;
}

const char* Connection::step() const {
  if (status_ != 0) return "read the answer";
  if (asked_) return "wait for the answer";
  curl_off_t looked_up = 0;  // microseconds
  curl_easy_getinfo(easy_.get(), CURLINFO_NAMELOOKUP_TIME_T, &looked_up);
  if (looked_up == 0) return "look up the name";
  // For libcurl 7.88 the proxy's answer and the TLS handshake are part of it; its own text says
  // which.
  return access_.proxy.empty() ? "connect" : "connect through the proxy";
}

Error Connection::trouble(Errc code, const std::string& why) const {
  return {.code = code,
          .sys_errno = 0,
          .text = access_.endpoint.authority() + ": " + step() + ": " + why};
}

Error Connection::trouble(CURLcode code) const {
  if (too_large_) return trouble(Errc::kExhausted, "it is too large");
  if (lost_) return trouble(Errc::kUnavailable, "the server closed the connection without one");
  std::string why = said_.front() != '\0' ? said_.data() : curl_easy_strerror(code);
  if (code == CURLE_PEER_FAILED_VERIFICATION) {
    why = "the server's certificate is not accepted: " + why;
  }
  long number = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
  const bool system = code == CURLE_COULDNT_CONNECT && number != 0;
  if (system) why.append(" (").append(std::strerror(static_cast<int>(number))).append(")");
  Error error = trouble(errc_of(code), why);
  if (system) error.sys_errno = static_cast<int>(number);
  return error;
}

std::size_t Connection::on_header(char* bytes, std::size_t /*one*/, std::size_t size,
                                  void* self) noexcept {
  return static_cast<Connection*>(self)->take_header({bytes, size}) ? size : 0;
}

std::size_t Connection::on_body(char* bytes, std::size_t /*one*/, std::size_t size,
                                void* self) noexcept {
  return static_cast<Connection*>(self)->take_bytes({bytes, size}) ? size : 0;
}

// libcurl repeats anything when a kept connection turns out to be closed. What is no GET may have
// been carried out by then.
int Connection::on_connected(void* self, char* /*to*/, char* /*from*/, int /*to_port*/,
                             int /*from_port*/) noexcept {
  auto& connection = *static_cast<Connection*>(self);
  connection.lost_ = connection.asked_ && !connection.repeatable_;
  connection.asked_ = true;
  return connection.lost_ ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

// A line of the head, or of what may come after a body in chunks.
bool Connection::take_header(std::string_view line) {
  head_bytes_ += line.size();
  too_large_ = too_large_ || head_bytes_ > kHeadBytes;
  if (too_large_) return false;
  const bool ends_head = line == "\r\n" || line == "\n";
  if (!ends_head || status_ != 0) return true;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  if (status < kFirstFinalStatus) return true;
  status_ = static_cast<int>(status);
  fresh_ = true;
  return true;
}

bool Connection::take_bytes(std::string_view bytes) {
  const bool unlimited = limits_.endless && status_ == kEndlessStatus;
  too_large_ = too_large_ || (!unlimited && body_.size() + bytes.size() > limits_.body_bytes);
  if (too_large_) return false;
  body_.append(bytes);
  fresh_ = true;
  return true;
}

}  // namespace pinion::kube
