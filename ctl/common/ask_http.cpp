#include "ctl/common/ask_http.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/cli/table.h"

namespace pinion::ctl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kConnect{5000};  // name, TCP and TLS
constexpr std::size_t kHeadBytes = std::size_t{256} << 10;
constexpr long kFirstFinalStatus = 200;  // those below come before the answer

// Once in a process, before its first handle.
bool is_libcurl_ready() {
  static const CURLcode made = curl_global_init(CURL_GLOBAL_DEFAULT);
  return made == CURLE_OK;
}

class Asking {
 public:
  explicit Asking(const HttpLimits& limits) : limits_(limits), easy_(curl_easy_init()) {}

  Result<HttpAnswer> ask(const HttpQuestion& question) {
    if (!easy_) return failure(Errc::kExhausted, "no memory for a connection");
    set_up();
    set_up_tls(question.tls);
    set_up_question(question);
    const CURLcode done = unset_ == CURLE_OK ? curl_easy_perform(easy_.get()) : unset_;
    if (done != CURLE_OK) return failure(trouble(done));
    // For libcurl a head that was cut off is one all the same.
    if (answer_.status == 0) return failure(Errc::kUnavailable, "its answer is cut off");
    return std::move(answer_);
  }

 private:
  struct FreeList {
    void operator()(curl_slist* list) const { curl_slist_free_all(list); }
  };
  struct FreeEasy {
    void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
  };

  template <class Value>
  void set(CURLoption option, Value value) {
    // In brackets: the function, not the macro that looks at its arguments.
    if (unset_ == CURLE_OK) unset_ = (curl_easy_setopt)(easy_.get(), option, value);
  }

  void set_up() {
    set(CURLOPT_ERRORBUFFER, said_.data());
    set(CURLOPT_HEADERFUNCTION, &Asking::on_header);
    set(CURLOPT_HEADERDATA, this);
    set(CURLOPT_WRITEFUNCTION, &Asking::on_body);
    set(CURLOPT_WRITEDATA, this);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // does not wait for a name that is being looked up
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    set(CURLOPT_PROXY, "");
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(limits_.time.count()));
    set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(kConnect, limits_.time).count()));
  }

  void set_up_tls(const HttpTls& tls) {
    set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});  // or newer
    if (!tls.ca.empty()) {
      set(CURLOPT_CAINFO, tls.ca.c_str());
      set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // else the system's too
    }
    if (!tls.certificate.empty()) {
      set(CURLOPT_SSLCERT, tls.certificate.c_str());
      set(CURLOPT_SSLKEY, tls.key.c_str());
    }
  }

  void set_up_question(const HttpQuestion& question) {
    set(CURLOPT_URL, question.url.c_str());
    if (question.json.empty()) return;
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(question.json.size()));
    set(CURLOPT_POSTFIELDS, question.json.data());
    append_header("Content-Type: application/json");
    append_header("Expect:");  // no waiting for leave to send a large body
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  void append_header(const char* line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line);
    if (longer == nullptr) {
      unset_ = CURLE_OUT_OF_MEMORY;
      return;
    }
    (void)headers_.release();
    headers_.reset(longer);
  }

  [[nodiscard]] curl_off_t microseconds(CURLINFO info) const {
    curl_off_t value = 0;
    curl_easy_getinfo(easy_.get(), info, &value);
    return value;
  }

  [[nodiscard]] std::string late() const {
    if (microseconds(CURLINFO_CONNECT_TIME_T) == 0) return "nobody can be reached there";
    const auto seconds = std::chrono::duration<double>(limits_.time).count();
    return microseconds(CURLINFO_PRETRANSFER_TIME_T) == 0
               ? "it began no TLS in time"
               : "no whole answer in " + figure_text(seconds) + " s";
  }

  [[nodiscard]] Error trouble(CURLcode code) const {
    const auto error = [](Errc kind, std::string text) {
      return Error{.code = kind, .sys_errno = 0, .text = std::move(text)};
    };
    // libcurl's words can have some of the server's in them.
    const std::string said = plain(said_.front() != '\0' ? said_.data() : curl_easy_strerror(code));
    if (!too_large_.empty()) return error(Errc::kUnavailable, too_large_);
    switch (code) {
      case CURLE_COULDNT_RESOLVE_HOST:
      case CURLE_COULDNT_CONNECT:
        return error(Errc::kUnavailable, "nobody can be reached there: " + said);
      case CURLE_OPERATION_TIMEDOUT:
        return error(Errc::kUnavailable, late());
      case CURLE_GOT_NOTHING:
        return error(Errc::kUnavailable, "it closed the connection without an answer");
      case CURLE_OUT_OF_MEMORY:  // libcurl's own limit of a line, too
        return error(Errc::kUnavailable, "its answer has too long a header, or memory is short");
      case CURLE_PARTIAL_FILE:
        return error(Errc::kUnavailable, "its answer is cut off");
      case CURLE_PEER_FAILED_VERIFICATION:
        return error(Errc::kUnavailable,
                     "its certificate is for another name, or not signed by who must have signed "
                     "it: " +
                         said);
      case CURLE_SSL_CACERT_BADFILE:
        return error(Errc::kInvalid, "the CA's file is no certificate in PEM: " + said);
      case CURLE_SSL_CERTPROBLEM:
        return error(Errc::kInvalid, "our certificate and its key cannot be used: " + said);
      case CURLE_URL_MALFORMAT:
      case CURLE_LOGIN_DENIED:
        return error(Errc::kInvalid, "the URL cannot be used: " + said);
      default:
        return error(Errc::kUnavailable, "asking it failed: " + said);
    }
  }

  // Fewer bytes taken than were there end the answer.
  static std::size_t on_header(char* bytes, std::size_t /*one*/, std::size_t size,
                               void* self) noexcept {
    return static_cast<Asking*>(self)->take_header({bytes, size}) ? size : 0;
  }
  static std::size_t on_body(char* bytes, std::size_t /*one*/, std::size_t size,
                             void* self) noexcept {
    return static_cast<Asking*>(self)->take_bytes({bytes, size}) ? size : 0;
  }

  // A line of the answer's head, of one that comes before it, or behind a body in chunks.
  bool take_header(std::string_view line) {
    head_bytes_ += line.size();
    if (head_bytes_ > kHeadBytes) {
      too_large_ =
          "its answer has more than " + std::to_string(kHeadBytes >> 10U) + " KiB of headers";
      return false;
    }
    if ((line != "\r\n" && line != "\n") || answer_.status != 0) return true;
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= kFirstFinalStatus) answer_.status = static_cast<int>(status);
    return true;
  }

  bool take_bytes(std::string_view bytes) {
    if (answer_.body.size() + bytes.size() > limits_.body_bytes) {
      too_large_ =
          "its answer is larger than " + std::to_string(limits_.body_bytes >> 20U) + " MiB";
      return false;
    }
    answer_.body.append(bytes);
    return true;
  }

  const HttpLimits limits_;
  std::array<char, CURL_ERROR_SIZE> said_{};  // by libcurl, of what failed
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::unique_ptr<CURL, FreeEasy> easy_;
  CURLcode unset_ = CURLE_OK;  // why the first option that libcurl did not take was not taken
  std::size_t head_bytes_ = 0;
  std::string too_large_;  // what of it
  HttpAnswer answer_;
};

std::string encoded(const std::string& text) {
  const std::unique_ptr<char, decltype(&curl_free)> result(
      curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &curl_free);
  return result ? result.get() : std::string();
}

}  // namespace

Result<HttpAnswer> ask_http(const HttpQuestion& question, const HttpLimits& limits) {
  if (!is_libcurl_ready()) return failure(Errc::kInternal, "libcurl does not start");
  return Asking(limits).ask(question);
}

std::string with_query(std::string url,
                       const std::vector<std::pair<std::string, std::string>>& fields) {
  char before = '?';
  for (const auto& [name, value] : fields) {
    url += before + encoded(name) + '=' + encoded(value);
    before = '&';
  }
  return url;
}

}  // namespace pinion::ctl
