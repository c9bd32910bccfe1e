// The bytes of CCS, the Converse Client-Server interface of Charm++: a request is a header of 40
// bytes (length of the data, PE, name of the handler) and its data; an answer is its length and its
// data, after which the server closes. Numbers are big-endian, but those that a handler gets.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace pinion::cluster::ccs {

inline constexpr std::size_t kHandlerBytes = 32;
inline constexpr std::size_t kMostAnswerBytes = std::size_t{1} << 20;
inline constexpr int kMostPes = 200'000;  // so that an answer about all of them is not too long

// For PE 0. Precondition: the handler's name is shorter than kHandlerBytes.
[[nodiscard]] std::string request(std::string_view handler, std::string_view data = {});

// The data of an answer, once all of it is there; nothing while bytes are missing. Errors: kInvalid
// for one that says to be longer than kMostAnswerBytes.
Result<std::optional<std::string_view>> answer_in(std::string_view bytes);

// Built into each program: its nodes, and how many PEs each has.
inline constexpr std::string_view kGetInfo = "ccs_getinfo";
// PEs in all. Errors: kInvalid for what is no such answer, and more than kMostPes.
Result<int> pes_in(std::string_view info);

// The handler of elastic programs, and what it gets: for each PE that there is whether it stays,
// and how many there are to be. Those that stay are the first ones. Preconditions: both numbers are
// 1 .. kMostPes, and they differ (a program that is sent its own number never answers).
inline constexpr std::string_view kSetBitmap = "set_bitmap";
[[nodiscard]] std::string bitmap(int before, int wanted);

}  // namespace pinion::cluster::ccs
