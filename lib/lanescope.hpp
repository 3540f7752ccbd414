// SPDX-License-Identifier: BSD-3-Clause
//
// Regions of C++17 programs, ended by destructors. They record into the default session (lsc_init of lanescope_file.h)
// unless they are given another one; without an open session they do nothing. Nothing throws. Compiled with LSC_DISABLE
// defined, all of it is nothing.
//
//   lanescope::region r{"solve"};                      from here to the end of the block
//
//   static const lanescope::region_id halo{"halo"};    looked up once
//   lanescope::region r{halo};
//
//   lanescope::call request{"request"};                may be moved, also to another thread, and ended there
//   std::thread([call = std::move(request)]() mutable { call.end(); }).detach();
#ifndef LANESCOPE_HPP
#define LANESCOPE_HPP

#include <lanescope.h>

#include <string_view>
#include <utility>

namespace lanescope {

#if defined(__GNUC__)
#define LSC_CALLER_FILE __builtin_FILE()
#define LSC_CALLER_LINE __builtin_LINE()
#else
#define LSC_CALLER_FILE nullptr
#define LSC_CALLER_LINE 0
#endif

#ifndef LSC_DISABLE

// The handle of a region. A name that is none gives LSC_NO_REGION, whose calls are not recorded; lsc_message says why.
class region_id {
 public:
  explicit region_id(std::string_view name, const char *file = LSC_CALLER_FILE, int line = LSC_CALLER_LINE) noexcept {
    lsc_region_info info{};
    info.size = sizeof info;
    info.name = name.data() ? name.data() : "";
    info.name_length = name.size();
    info.source_file = file;
    info.source_line = line;
    (void)lsc_region_define(&info, &id_);
  }
  lsc_region_id value() const noexcept { return id_; }

 private:
  lsc_region_id id_ = LSC_NO_REGION;
};

// One call, from its construction to its destruction on the same thread, in the order of a stack.
class [[nodiscard]] region {
 public:
  explicit region(const region_id &id, lsc_session session = lsc_session_default()) noexcept
      : session_{session}, id_{id.value()} {
    begin();
  }
  explicit region(std::string_view name, const char *file = LSC_CALLER_FILE, int line = LSC_CALLER_LINE) noexcept
      : session_{lsc_session_default()} {
    if (!session_) return;
    id_ = region_id{name, file, line}.value();
    begin();
  }
  region(const region &) = delete;
  region &operator=(const region &) = delete;
  ~region() {
    if (session_) (void)lsc_end(session_, id_);
  }

 private:
  // The end of a call that was dropped must come.
  void begin() noexcept {
    if (!session_) return;
    const lsc_status status = lsc_begin(session_, id_);
    if (status != LSC_OK && status != LSC_NO_MEMORY) session_ = 0;
  }

  lsc_session session_;
  lsc_region_id id_ = LSC_NO_REGION;
};

// One call on the lane that constructs it, which ends with this object or before, on any thread and in any order.
class [[nodiscard]] call {
 public:
  call() noexcept = default;
  explicit call(const region_id &id, lsc_session session = lsc_session_default()) noexcept {
    if (session) (void)lsc_scope_begin(session, id.value(), &token_);
  }
  explicit call(std::string_view name, const char *file = LSC_CALLER_FILE, int line = LSC_CALLER_LINE) noexcept {
    const lsc_session session = lsc_session_default();
    if (session) (void)lsc_scope_begin(session, region_id{name, file, line}.value(), &token_);
  }
  call(call &&other) noexcept : token_{std::exchange(other.token_, lsc_token{})} {}
  call &operator=(call &&other) noexcept {
    if (this != &other) {
      end();
      token_ = std::exchange(other.token_, lsc_token{});
    }
    return *this;
  }
  call(const call &) = delete;
  call &operator=(const call &) = delete;
  ~call() { end(); }

  // Ends it now. The object then stands for no call.
  void end() noexcept {
    const lsc_token token = std::exchange(token_, lsc_token{});
    if (token.session) (void)lsc_scope_end(token);
  }

 private:
  lsc_token token_{};
};

#else

class region_id {
 public:
  explicit region_id(std::string_view, const char * = nullptr, int = 0) noexcept {}
  lsc_region_id value() const noexcept { return LSC_NO_REGION; }
};

class [[nodiscard]] region {
 public:
  explicit region(const region_id &, lsc_session = 0) noexcept {}
  explicit region(std::string_view, const char * = nullptr, int = 0) noexcept {}
  region(const region &) = delete;
  region &operator=(const region &) = delete;
  ~region() {}
};

class [[nodiscard]] call {
 public:
  call() noexcept = default;
  explicit call(const region_id &, lsc_session = 0) noexcept {}
  explicit call(std::string_view, const char * = nullptr, int = 0) noexcept {}
  call(call &&) noexcept {}
  call &operator=(call &&) noexcept { return *this; }
  call(const call &) = delete;
  call &operator=(const call &) = delete;
  ~call() {}
  void end() noexcept {}
};

#endif

#undef LSC_CALLER_FILE
#undef LSC_CALLER_LINE

}  // namespace lanescope

#endif
