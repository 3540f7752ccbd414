// SPDX-License-Identifier: BSD-3-Clause
// Compiled with LSC_DISABLE this needs nothing of the library.
#include <lanescope.hpp>

int main() {
  static const lanescope::region_id id{"id"};
  lanescope::region by_id{id}, by_name{"name"};
  lanescope::call call{"call"}, moved{static_cast<lanescope::call &&>(call)};
  moved.end();
  LSC_REGION("scope");
  LSC_BEGIN("begin");
  LSC_END("begin");
  return id.value() != LSC_NO_REGION;
}
