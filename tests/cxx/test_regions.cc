// SPDX-License-Identifier: BSD-3-Clause
// The classes of lanescope.hpp and the macros of lanescope.h in C++: how many calls there are, however scopes are left.
#include <lanescope.hpp>

#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

static_assert(!std::is_copy_constructible_v<lanescope::region> && !std::is_move_constructible_v<lanescope::region>);
static_assert(!std::is_copy_constructible_v<lanescope::call> && std::is_nothrow_move_constructible_v<lanescope::call>);

namespace {

int failures;

void expect(const char *what, lsc_session session, const std::string &name, unsigned long long calls) {
  lsc_region_summary summary{};
  lsc_region_id id{};
  if (lsc_region(name.c_str(), &id) == LSC_OK && lsc_region_stats(session, id, &summary) == LSC_OK &&
      summary.calls == calls)
    return;
  std::fprintf(stderr, "%s: %s has %llu calls, not %llu\n", what, name.c_str(),
               static_cast<unsigned long long>(summary.calls), calls);
  failures++;
}

void leave_early(int i) {
  lanescope::region outer{"outer"};
  LSC_REGION("macro");
  if (i == 1) return;
  if (i == 2) throw std::runtime_error{"left"};
  LSC_BEGIN("by hand");
  LSC_END("by hand");
}

void leave_in_every_way() {
  for (int i = 0; i < 3; i++) {
    try {
      leave_early(i);
    } catch (const std::runtime_error &) {
    }
  }
}

void hand_over() {
  static const lanescope::region_id request{std::string_view{"requests", 7}};
  lanescope::call first{request};
  lanescope::region between{std::string{"between"}};
  std::thread other{[mine = std::move(first)]() mutable { mine.end(); }};
  other.join();
  first.end();
  std::vector<lanescope::call> calls;
  for (int i = 0; i < 5; i++) calls.emplace_back(request);
  lanescope::call last{"last"};
  last = std::move(calls.front());
  std::optional<lanescope::call> none{std::in_place};
}

void explicit_session(lsc_session session) {
  static const lanescope::region_id own{"own"};
  lanescope::region r{own, session};
}

}  // namespace

int main() {
  lsc_session run{}, other{};
  leave_in_every_way();
  hand_over();
  if (lsc_session_open(nullptr, &run) || lsc_session_open(nullptr, &other) || lsc_session_set_default(run)) return 1;
  leave_in_every_way();
  hand_over();
  explicit_session(other);
  { lanescope::region r{"\xFF"}; }
  expect("ways", run, "outer", 3);
  expect("ways", run, "macro", 3);
  expect("ways", run, "by hand", 1);
  expect("tokens", run, "request", 6);
  expect("tokens", run, "between", 1);
  expect("tokens", run, "last", 1);
  expect("sessions", run, "own", 0);
  expect("sessions", other, "own", 1);
  lsc_session_close(run);
  lsc_session_close(other);
  return failures != 0;
}
