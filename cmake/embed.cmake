# Writes a header in which a file's bytes are a string: inline constexpr std::string_view SYMBOL.
# Usage: cmake -DFILE=... -DHEADER=... -DNAMESPACE=... -DSYMBOL=... -P embed.cmake
file(READ ${FILE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${HEADER} "#pragma once

#include <string_view>

namespace ${NAMESPACE} {

inline constexpr char ${SYMBOL}Bytes[] = {
${bytes}};
inline constexpr std::string_view ${SYMBOL}(${SYMBOL}Bytes, sizeof(${SYMBOL}Bytes));

}  // namespace ${NAMESPACE}
")
