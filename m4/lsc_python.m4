# SPDX-License-Identifier: BSD-3-Clause

# LSC_TRY_PYTHON(PATH): takes this interpreter if it is one that the extension can be built for, else notes why not.
AC_DEFUN([LSC_TRY_PYTHON], [
  AS_IF([test "$lsc_python" = no && test -x "$1" && test ! -d "$1"], [
    lsc_real=`readlink -f "$1" 2>/dev/null || echo "$1"`
    AS_CASE([" $lsc_pythons_seen "], [*" $lsc_real "*], [], [
      lsc_pythons_seen="$lsc_pythons_seen $lsc_real"
      AC_MSG_CHECKING([whether $1 has NumPy and headers])
      AS_IF([lsc_answer=`"$1" -B "$srcdir/build-aux/probe_python.py" "$lsc_prefix" 2>&1`],
        [eval "$lsc_answer"
         lsc_python=yes
         AC_MSG_RESULT([yes])],
        [lsc_answer=`AS_ECHO(["$lsc_answer"]) | tail -n 1`
         AC_MSG_RESULT([$lsc_answer])
         lsc_python_passed="$lsc_python_passed
                    passed over $1: $lsc_answer"])])
  ])
])

# LSC_FIND_PYTHON: PYTHON and what probe_python.py says of it. An interpreter that the user named is the only candidate.
AC_DEFUN([LSC_FIND_PYTHON], [
  lsc_python=no lsc_pythons_seen= lsc_python_passed=
  lsc_prefix=$prefix
  AS_IF([test "$lsc_prefix" = NONE], [lsc_prefix=$ac_default_prefix])
  AS_CASE([${with_python:-yes}], [yes], [lsc_named=$PYTHON], [lsc_named=$with_python])
  AS_IF([test -n "$lsc_named"], [
    AS_CASE([$lsc_named], [*/*], [], [lsc_named=`command -v "$lsc_named" || echo "$lsc_named"`])
    AS_IF([test -x "$lsc_named"], [], [AC_MSG_ERROR([there is no Python $lsc_named])])
    LSC_TRY_PYTHON([$lsc_named])
  ], [
    lsc_saved_IFS=$IFS
    IFS=$PATH_SEPARATOR
    for lsc_folder in $PATH /usr/bin /usr/local/bin; do
      IFS=$lsc_saved_IFS
      LSC_TRY_PYTHON([$lsc_folder/python3])
    done
    IFS=$lsc_saved_IFS
    for lsc_candidate in /usr/bin/python3.[[0-9]]* /usr/local/bin/python3.[[0-9]]*; do
      AS_CASE([$lsc_candidate], [*-config], [], [LSC_TRY_PYTHON([$lsc_candidate])])
    done
  ])
])

# LSC_PYTHON: PYTHON, PYTHON_CPPFLAGS, pythondir, and what the tests can use; lsc_python_text is for the table.
AC_DEFUN([LSC_PYTHON], [
  AC_ARG_WITH([python],
    [AS_HELP_STRING([--with-python=PATH], [the interpreter to build for; --without-python: no Python package])])
  AC_ARG_VAR([PYTHON], [as --with-python])
  AC_SUBST([PYTHON_CPPFLAGS])
  AC_SUBST([pythondir])
  AS_IF(
    [test "$with_python" = no], [lsc_python=no lsc_python_text="off: --without-python"],
    [test "$with_mpi" = no], [lsc_python=no lsc_python_text="off: --without-mpi (the package writes files)"],
    [LSC_FIND_PYTHON
     AS_IF([test "$lsc_python" = yes],
       [lsc_python_text="$lsc_python_version, $PYTHON, NumPy $lsc_numpy_version"],
       [lsc_python_text="not found"
        LSC_MISSING([Python with NumPy and headers], [python3-dev python3-numpy],
                    [--with-python=PATH or --without-python])])
     lsc_python_text="$lsc_python_text$lsc_python_passed"])
  AM_CONDITIONAL([WITH_PYTHON], [test "$lsc_python" = yes])
  LSC_PYTHON_MODULES
])

# LSC_PYTHON_MODULES: modules that only tests and examples need.
AC_DEFUN([LSC_PYTHON_MODULES], [
  lsc_python_tests="off: no Python package"
  AS_IF([test "$lsc_python" = yes], [
    lsc_python_tests="yes"
    AS_IF([test -z "$lsc_has_pytest"],
      [lsc_python_tests="off: $PYTHON has no pytest (python3-pytest)"
       LSC_WANTED([python3-pytest])])
    AS_IF([test -z "$lsc_has_h5py"],
      [lsc_python_tests="$lsc_python_tests; no h5py (python3-h5py-mpi)"
       LSC_WANTED([python3-h5py-mpi])])
    AS_IF([test -z "$lsc_has_mpi4py"],
      [lsc_python_tests="$lsc_python_tests; no mpi4py (python3-mpi4py)"
       LSC_WANTED([python3-mpi4py])])])
  AM_CONDITIONAL([HAVE_PYTEST], [test -n "$lsc_has_pytest"])
  AM_CONDITIONAL([HAVE_H5PY], [test "$lsc_python" = yes && test -n "$lsc_has_h5py"])
])
