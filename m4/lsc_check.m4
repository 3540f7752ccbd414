# SPDX-License-Identifier: BSD-3-Clause

# LSC_CHECK: CHECK_CFLAGS and CHECK_LIBS of the unit test framework; lsc_check_text is for the table.
AC_DEFUN([LSC_CHECK], [
  AC_SUBST([CHECK_CFLAGS])
  AC_SUBST([CHECK_LIBS])
  lsc_check=no
  AC_MSG_CHECKING([for Check])
  AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG --atleast-version=0.13 check 2>/dev/null], [
    lsc_check=yes
    CHECK_CFLAGS=`$PKG_CONFIG --cflags check`
    CHECK_LIBS=`$PKG_CONFIG --libs check`
    lsc_check_text="Check `$PKG_CONFIG --modversion check`"
  ], [
    lsc_check_text="off: Check not found (check, pkg-config)"
    LSC_WANTED([check pkg-config])])
  AC_MSG_RESULT([$lsc_check])
  AM_CONDITIONAL([HAVE_CHECK], [test "$lsc_check" = yes])
])
