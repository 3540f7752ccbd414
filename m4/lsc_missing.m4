# SPDX-License-Identifier: BSD-3-Clause

# LSC_MISSING(WHAT, PACKAGES, [OPTION]): a piece without which the build cannot go on, the Debian packages that bring
# it, and the option that does without it. configure looks for everything first and fails at the end.
AC_DEFUN([LSC_MISSING], [
  lsc_missing_required="$lsc_missing_required $2"
  lsc_missing_text="$lsc_missing_text
  $1: apt-get install $2[]m4_ifval([$3], [[, or configure with $3]])"
])

# LSC_WANTED(PACKAGES): packages that would switch something on.
AC_DEFUN([LSC_WANTED], [lsc_missing_optional="$lsc_missing_optional $1"])
