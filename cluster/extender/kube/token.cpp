#include "cluster/extender/kube/token.h"

#include <algorithm>
#include <utility>

#include "base/whole_file.h"

namespace pinion::kube {
namespace {

// The file's text without the newline at its end.
Result<std::string> read_token(const std::string& path) {
  auto text = read_file(path, 1);
  if (!text) return failure(text.error().within("token"));
  while (!text->empty() && (text->back() == '\n' || text->back() == '\r')) text->pop_back();
  if (text->empty()) return failure(Errc::kInvalid, "token: " + path + " is empty");
  if (!is_token(*text))
    return failure(Errc::kInvalid, "token: " + path + " holds more than one word");
  return text;
}

}  // namespace

bool is_token(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Token::Token(std::string fixed, std::string file)
    : fixed_(std::move(fixed)), file_(std::move(file)) {}

Result<std::string> Token::get(TimePoint now) {
  if (file_.empty()) return fixed_;
  const std::lock_guard lock(mutex_);
  if (read_at_ && now - *read_at_ < kMaxAge) return text_;
  auto fresh = read_token(file_);
  if (fresh) {
    text_ = *std::move(fresh);
    read_at_ = now;
  } else if (text_.empty()) {
    return failure(fresh.error());
  }
  return text_;
}

bool Token::refused(const std::string& token) {
  if (file_.empty()) return false;
  const std::lock_guard lock(mutex_);
  // Another thread may have read a newer one meanwhile.
  if (token == text_) read_at_.reset();
  return true;
}

}  // namespace pinion::kube
