# SPDX-License-Identifier: BSD-3-Clause

# LSC_COMPILE_FLAG(VARIABLE, FLAG): appends FLAG to VARIABLE if the compiler takes it without a word.
AC_DEFUN([LSC_COMPILE_FLAG], [
  AS_VAR_PUSHDEF([lsc_cache], [lsc_cv_compile$2])
  AC_CACHE_CHECK([whether $CC takes $2], [lsc_cache], [
    lsc_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -Werror $2"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([lsc_cache], [yes])], [AS_VAR_SET([lsc_cache], [no])])
    CFLAGS=$lsc_saved_CFLAGS])
  AS_VAR_IF([lsc_cache], [yes], [AS_VAR_APPEND([$1], [" $2"])])
  AS_VAR_POPDEF([lsc_cache])
])

# LSC_LINK_FLAG(VARIABLE, FLAG, [IF-NOT]): the same for the linker.
AC_DEFUN([LSC_LINK_FLAG], [
  AS_VAR_PUSHDEF([lsc_cache], [lsc_cv_link$2])
  AC_CACHE_CHECK([whether the linker takes $2], [lsc_cache], [
    lsc_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS $2"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [AS_VAR_SET([lsc_cache], [yes])], [AS_VAR_SET([lsc_cache], [no])])
    LDFLAGS=$lsc_saved_LDFLAGS])
  AS_VAR_IF([lsc_cache], [yes], [AS_VAR_APPEND([$1], [" $2"])], [$3])
  AS_VAR_POPDEF([lsc_cache])
])

# LSC_C11: the compiler knows atomics, thread-local storage and static assertions.
AC_DEFUN([LSC_C11], [
  AC_CACHE_CHECK([whether $CC is a C11 compiler with atomics], [lsc_cv_c11], [
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <stdatomic.h>
      #include <stdint.h>
      _Static_assert(sizeof(uint64_t) == 8, "");
      static _Thread_local int here;
      static _Atomic uint64_t there;
    ]], [[return here + (int)atomic_fetch_add_explicit(&there, 1, memory_order_relaxed);]])],
      [lsc_cv_c11=yes], [lsc_cv_c11=no])])
  AS_IF([test "$lsc_cv_c11" = no], [AC_MSG_ERROR([$CC is no C11 compiler: give another one as CC=])])
])

# LSC_WARNINGS: warning flags into LSC_CFLAGS.
AC_DEFUN([LSC_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])])
  m4_foreach_w([lsc_flag],
    [-Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wpointer-arith -Wwrite-strings -Wstrict-prototypes
     -Wmissing-prototypes -Wold-style-definition -Wimplicit-fallthrough -Wlogical-op -Wduplicated-cond],
    [LSC_COMPILE_FLAG([LSC_CFLAGS], lsc_flag)])
  AS_IF([test "$enable_werror" = yes], [LSC_CFLAGS="$LSC_CFLAGS -Werror"])
])

# LSC_SANITIZERS: --enable-sanitizers and --enable-coverage into LSC_CFLAGS and LSC_LDFLAGS;
# lsc_sanitizers for the table.
AC_DEFUN([LSC_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST],
      [build with these sanitizers; address,undefined where no LIST is given])],
    [AS_IF([test "$enableval" = yes], [enable_sanitizers=address,undefined])], [enable_sanitizers=no])
  AC_ARG_ENABLE([coverage], [AS_HELP_STRING([--enable-coverage], [count what is executed, for gcov])])
  lsc_sanitizers="off (--enable-sanitizers)"
  AS_IF([test "$enable_sanitizers" != no], [
    lsc_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS -fsanitize=$enable_sanitizers"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
      [AC_MSG_ERROR([$CC cannot link with -fsanitize=$enable_sanitizers])])
    CFLAGS=$lsc_saved_CFLAGS
    lsc_sanitizers=$enable_sanitizers
    LSC_CFLAGS="$LSC_CFLAGS -fsanitize=$enable_sanitizers -fno-sanitize-recover=all -fno-omit-frame-pointer"
    LSC_LDFLAGS="$LSC_LDFLAGS -fsanitize=$enable_sanitizers"
    SANITIZER_FLAGS=-fsanitize=$enable_sanitizers])
  AC_SUBST([SANITIZER_FLAGS])
  AS_IF([test "$enable_coverage" = yes], [
    LSC_CFLAGS="$LSC_CFLAGS --coverage"
    LSC_LDFLAGS="$LSC_LDFLAGS --coverage"])
])

# LSC_LIBRARY_FLAGS: how the shared libraries are compiled and linked. Thread-exit and fork handlers outlive a dlclose,
# so they are never unloaded. What they export is decided by version scripts alone.
AC_DEFUN([LSC_LIBRARY_FLAGS], [
  AC_SUBST([LIBRARY_CFLAGS])
  AC_SUBST([LIBRARY_LDFLAGS])
  LSC_COMPILE_FLAG([LIBRARY_CFLAGS], [-fno-semantic-interposition])
  LSC_LINK_FLAG([LIBRARY_LDFLAGS], [-Wl,-z,nodelete],
    [AC_MSG_ERROR([the linker does not know -z nodelete, which liblanescope needs: use GNU ld, gold or lld])])
  LSC_LINK_FLAG([LIBRARY_LDFLAGS], [-Wl,-Bsymbolic-functions])
  LSC_LINK_FLAG([LIBRARY_LDFLAGS], [-Wl,--enable-new-dtags])
  AS_IF([test "$enable_sanitizers" = no], [LSC_LINK_FLAG([LIBRARY_LDFLAGS], [-Wl,-z,defs])])
  AC_CACHE_CHECK([whether the linker takes version scripts], [lsc_cv_version_script], [
    AS_ECHO(['LSC_TEST { global: main; local: *; };']) > conftest.map
    lsc_saved_LDFLAGS=$LDFLAGS
    LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [lsc_cv_version_script=yes], [lsc_cv_version_script=no])
    LDFLAGS=$lsc_saved_LDFLAGS
    rm -f conftest.map])
  AS_IF([test "$lsc_cv_version_script" = no],
    [AC_MSG_ERROR([the linker does not take version scripts, which liblanescope needs: use GNU ld, gold or lld])])
])
