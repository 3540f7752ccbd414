# SPDX-License-Identifier: BSD-3-Clause

# LSC_SPLIT_FLAGS(WORDS, CPPFLAGS, LIBS): sorts what a compiler wrapper or pkg-config says. Foreign headers are system
# headers, so that their warnings are theirs.
AC_DEFUN([LSC_SPLIT_FLAGS], [
  $2= $3=
  for lsc_word in $1; do
    AS_CASE([$lsc_word],
      [-I/usr/include], [],
      [-I*], [$2="$$2 -isystem `expr X$lsc_word : 'X-I\(.*\)'`"],
      [-D*], [$2="$$2 $lsc_word"],
      [-L*|-l*|-Wl,-rpath*|-Wl,/*|-pthread], [$3="$$3 $lsc_word"])
  done
])

# LSC_TRY_MPI(WORDS, SOURCE): with these flags a program with MPI 3 links. Sets lsc_mpi.
AC_DEFUN([LSC_TRY_MPI], [
  AS_IF([test "$lsc_mpi" = no], [
    LSC_SPLIT_FLAGS([$1], [MPI_CPPFLAGS], [MPI_LIBS])
    CPPFLAGS="$lsc_saved_CPPFLAGS $MPI_CPPFLAGS"
    LIBS="$MPI_LIBS $lsc_saved_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <mpi.h>
      #if MPI_VERSION < 3
      #error "MPI 3 is needed"
      #endif
    ]], [[MPI_Request request; return MPI_Ibarrier(MPI_COMM_WORLD, &request);]])],
      [lsc_mpi=yes lsc_mpi_source="$2"])
  ])
])

# LSC_MPI_NAME: which MPI it is, into lsc_mpi_name (openmpi, mpich, other) and lsc_mpi_text.
AC_DEFUN([LSC_MPI_NAME], [
  lsc_mpi_name=other lsc_mpi_text="MPI"
  AC_EGREP_CPP([lsc_is_openmpi], [
    #include <mpi.h>
    #ifdef OMPI_MAJOR_VERSION
    lsc_is_openmpi
    #endif
  ], [lsc_mpi_name=openmpi lsc_mpi_text="Open MPI"])
  AC_EGREP_CPP([lsc_is_mpich], [
    #include <mpi.h>
    #ifdef MPICH_VERSION
    lsc_is_mpich
    #endif
  ], [lsc_mpi_name=mpich lsc_mpi_text="MPICH"])
])

# LSC_MPICC: the compiler wrapper, by name or path from MPICC or --with-mpi. lsc_mpi_suffix: what Debian adds to the
# names of one MPI's programs, where the wrapper has it.
AC_DEFUN([LSC_MPICC], [
  AS_CASE([$with_mpi],
    [""|yes], [lsc_mpi_wanted= lsc_names="mpicc mpicc.openmpi mpicc.mpich"],
    [openmpi|mpich], [lsc_mpi_wanted=$with_mpi lsc_names="mpicc.$with_mpi mpicc"],
    [AC_MSG_ERROR([--with-mpi=$with_mpi: openmpi or mpich, or give the compiler wrapper as MPICC=...])])
  lsc_given=
  AS_CASE([$MPICC], [""|*/*], [], [lsc_given=$MPICC lsc_names=$MPICC MPICC=])
  AC_PATH_PROGS([MPICC], [$lsc_names])
  AS_IF([test -n "$lsc_given" && test -z "$MPICC"], [AC_MSG_ERROR([there is no MPICC=$lsc_given])])
  AS_CASE([$MPICC], [*.openmpi], [lsc_mpi_suffix=.openmpi], [*.mpich], [lsc_mpi_suffix=.mpich], [lsc_mpi_suffix=])
])

# LSC_MPI: MPI_CPPFLAGS, MPI_LIBS, MPICC and MPIRUN; lsc_mpi is yes or no, lsc_mpi_text is for the table.
AC_DEFUN([LSC_MPI], [
  AC_ARG_VAR([MPICC], [MPI compiler wrapper, asked for its flags])
  AC_ARG_VAR([MPIRUN], [MPI launcher, for the tests])
  AC_SUBST([MPI_CPPFLAGS])
  AC_SUBST([MPI_LIBS])
  AC_ARG_WITH([mpi], [AS_HELP_STRING([--with-mpi=openmpi|mpich], [which MPI, where there are several])
AS_HELP_STRING([--without-mpi], [only the recorder: no files, no Python package])])
  lsc_mpi=no
  AS_IF([test "$with_mpi" = no], [lsc_mpi_text="off: --without-mpi"], [
    LSC_MPICC
    lsc_saved_CPPFLAGS=$CPPFLAGS lsc_saved_LIBS=$LIBS
    AC_MSG_CHECKING([for MPI])
    AS_IF([test -n "$MPICC"], [LSC_TRY_MPI([`$MPICC -show 2>/dev/null`], [$MPICC])])
    AS_IF([test -n "$PKG_CONFIG"], [
      for lsc_pc in ompi-c mpich; do
        LSC_TRY_MPI([`$PKG_CONFIG --cflags --libs $lsc_pc 2>/dev/null`], [pkg-config $lsc_pc])
      done])
    LSC_TRY_MPI([], [$CC itself])
    AS_IF([test "$lsc_mpi" = yes],
      [AC_MSG_RESULT([$lsc_mpi_source])
       LSC_MPI_NAME
       lsc_mpi_text="$lsc_mpi_text, by $lsc_mpi_source"
       AS_IF([test -n "$lsc_mpi_wanted" && test "$lsc_mpi_name" != "$lsc_mpi_wanted"],
         [AC_MSG_ERROR([--with-mpi=$lsc_mpi_wanted, but only $lsc_mpi_text, was found; give MPICC=...])])],
      [AC_MSG_RESULT([no])
       lsc_mpi_text="not found"
       LSC_MISSING([MPI], [libopenmpi-dev], [--without-mpi])])
    CPPFLAGS=$lsc_saved_CPPFLAGS LIBS=$lsc_saved_LIBS
    LSC_MPIRUN
  ])
  AM_CONDITIONAL([WITH_MPI], [test "$lsc_mpi" = yes])
])

# LSC_MPIRUN: the launcher, the one beside mpicc first.
AC_DEFUN([LSC_MPIRUN], [
  AC_PATH_PROGS([MPIRUN], [mpirun$lsc_mpi_suffix mpiexec$lsc_mpi_suffix mpirun mpiexec], [],
    [`AS_DIRNAME(["${MPICC:-/}"])`:$PATH])
  AS_IF([test -n "$MPIRUN"], [lsc_mpirun_text=$MPIRUN], [
    lsc_mpirun_text="not found (openmpi-bin): MPI tests are skipped"
    LSC_WANTED([openmpi-bin])])
])
