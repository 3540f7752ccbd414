# SPDX-License-Identifier: BSD-3-Clause

# LSC_SUMMARY: what was found, what is off and why.
AC_DEFUN([LSC_SUMMARY], [
  lsc_show_pythondir=off
  AS_IF([test "$lsc_python" = yes],
    [AS_CASE([$prefix], [NONE], [lsc_show_prefix=$ac_default_prefix], [lsc_show_prefix=$prefix])
     lsc_show_pythondir=`AS_ECHO(["$pythondir"]) | sed "s|\\${prefix}|$lsc_show_prefix|"`])
  AS_ECHO(["
lanescope $PACKAGE_VERSION

  C compiler        $CC $CFLAGS
  MPI               $lsc_mpi_text
  MPI launcher      ${lsc_mpirun_text:-off: no MPI}
  parallel HDF5     $lsc_hdf5_text
  zlib              $lsc_zlib_text
  Python            $lsc_python_text
  Fortran           $lsc_fortran_text
  unit tests        $lsc_check_text
  Python tests      $lsc_python_tests
  sanitizers        $lsc_sanitizers
  Python package    ${lsc_show_pythondir}
"])
  AS_IF([test -n "$lsc_missing_optional"],
    [AS_ECHO(["To switch on what is off for want of a package (Debian, Ubuntu):
  apt-get install$lsc_missing_optional
"])])
])

# LSC_FAIL_IF_MISSING: ends configure with everything that is missing at once.
AC_DEFUN([LSC_FAIL_IF_MISSING], [
  AS_IF([test -n "$lsc_missing_required"], [AC_MSG_ERROR([missing:$lsc_missing_text
All at once, on Debian or Ubuntu:
  apt-get install$lsc_missing_required$lsc_missing_optional])])
])
