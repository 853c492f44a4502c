#include "runtime/calibrate/together.h"

#include <fmt/format.h>

#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"

namespace orrery::runtime {

void run_together(std::size_t count, const std::function<void(std::size_t)>& body,
                  const std::function<void()>& missing) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  std::optional<WorldError> error;
  try {
    for (std::size_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  } catch (const std::system_error& e) {
    error.emplace(fmt::format("no thread for rank {} of {}: {}", threads.size(), count, e.what()));
    for (std::size_t i = threads.size(); i < count; ++i) missing();
  }
  for (std::thread& thread : threads) thread.join();
  if (error) throw *error;
}

}  // namespace orrery::runtime
