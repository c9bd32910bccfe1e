// The documents of a YAML text one by one: yaml-cpp's own LoadAll() never ends on some texts that
// are no YAML (", x": a document of which it reads nothing, again and again).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace pinion {

struct YamlDocument {
  std::string_view text;  // with its marker, where it has one
  int line = 1;           // its first one
};

// Split at the lines that begin with "---" or "...", which no block may have; texts of comments and
// blanks alone are none. What is returned points into `text`.
inline std::vector<YamlDocument> yaml_documents(std::string_view text) {
  std::vector<YamlDocument> documents;
  std::size_t begin = 0;
  int first_line = 1;
  bool any = false;  // a marker or content, since `begin`
  const auto close = [&](std::size_t end, int next_line) {
    if (any) documents.push_back({.text = text.substr(begin, end - begin), .line = first_line});
    begin = end;
    first_line = next_line;
    any = false;
  };
  int number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t found = text.find('\n', at);
    const std::size_t next = found == std::string_view::npos ? text.size() : found + 1;
    const std::string_view line = text.substr(at, next - at);
    const auto marks = [line](std::string_view marker) {
      return line.starts_with(marker) &&
             (line.size() == marker.size() ||
              std::string_view(" \t\r\n").find(line[marker.size()]) != std::string_view::npos);
    };
    if (marks("...")) {
      close(next, number + 1);
    } else if (marks("---")) {
      close(at, number);
      any = true;
    } else {
      const std::size_t word = line.find_first_not_of(" \t\r\n");
      any = any || (word != std::string_view::npos && line[word] != '#' && line.front() != '%');
    }
    at = next;
  }
  close(text.size(), number);
  return documents;
}

// One of them by itself, with as many blank lines before it as there are others: so that errors
// name the line in the whole text.
inline std::string alone(const YamlDocument& document) {
  return std::string(static_cast<std::size_t>(document.line) - 1, '\n') +
         std::string(document.text);
}

// yaml-cpp takes some bytes that no YAML may hold for the text's end, and says nothing. Error:
// kInvalid, with the line of the first control character other than tab, CR and LF, or of the
// first byte that is no UTF-8.
inline Status check_characters(std::string_view text) {
  int line = 1;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const char c = text[at];
    const bool control =
        c == '\x7f' || (c >= '\0' && c < ' ' && c != '\t' && c != '\r' && c != '\n');
    if (length == 0 || control) {
      return failure(Errc::kInvalid, "line " + std::to_string(line) + ": " +
                                         (control ? "a control character" : "no UTF-8"));
    }
    if (c == '\n') ++line;
    at += length;
  }
  return {};
}

// The text's one document as alone() gives it; of a text that holds none nothing. Errors: those of
// check_characters(); kInvalid for a second one, with its line.
inline Result<std::string> only_document(std::string_view text) {
  if (Status fit = check_characters(text); !fit) return failure(std::move(fit.error()));
  const std::vector<YamlDocument> documents = yaml_documents(text);
  if (documents.empty()) return std::string();
  if (documents.size() > 1) {
    return failure(Errc::kInvalid, "line " + std::to_string(documents[1].line) +
                                       ": a second document, of which nothing would be read");
  }
  return alone(documents.front());
}

}  // namespace pinion
