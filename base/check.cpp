#include "base/check.h"

namespace orrery {

void check_failed(std::string_view condition, const char* file, int line, const std::string& values) {
  throw InternalError(fmt::format("{}:{}: internal error: CHECK({}) failed{}{}", file, line, condition,
                                  values.empty() ? "" : " with ", values));
}

}  // namespace orrery
