# SPDX-License-Identifier: BSD-3-Clause

# LSC_ZLIB: ZLIB_CPPFLAGS and ZLIB_LIBS, for compressed files; lsc_zlib_text is for the table.
AC_DEFUN([LSC_ZLIB], [
  AC_SUBST([ZLIB_CPPFLAGS])
  AC_SUBST([ZLIB_LIBS])
  lsc_zlib=no
  AS_IF([test "$with_mpi" = no], [lsc_zlib_text="off: --without-mpi"], [
    lsc_saved_CPPFLAGS=$CPPFLAGS lsc_saved_LIBS=$LIBS
    lsc_words="-lz"
    AS_IF([test -n "$PKG_CONFIG" && $PKG_CONFIG zlib 2>/dev/null], [lsc_words=`$PKG_CONFIG --cflags --libs zlib`])
    LSC_SPLIT_FLAGS([$lsc_words], [ZLIB_CPPFLAGS], [ZLIB_LIBS])
    AC_MSG_CHECKING([for zlib])
    CPPFLAGS="$lsc_saved_CPPFLAGS $ZLIB_CPPFLAGS"
    LIBS="$ZLIB_LIBS $lsc_saved_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <zlib.h>
      #if ZLIB_VERNUM < 0x1290
      #error "zlib 1.2.9 is needed"
      #endif
    ]], [[return (int)adler32_z(1, Z_NULL, 0);]])], [lsc_zlib=yes])
    AC_MSG_RESULT([$lsc_zlib])
    CPPFLAGS=$lsc_saved_CPPFLAGS LIBS=$lsc_saved_LIBS
    AS_IF([test "$lsc_zlib" = yes], [lsc_zlib_text="yes"], [
      lsc_zlib_text="not found"
      LSC_MISSING([zlib 1.2.9], [zlib1g-dev], [--without-mpi])])
  ])
])
