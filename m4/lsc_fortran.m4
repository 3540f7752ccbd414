# SPDX-License-Identifier: BSD-3-Clause

# LSC_SPLIT_FORTRAN(WORDS): what an MPI compiler wrapper says, into MPI_FCFLAGS and MPI_FCLIBS. -I is where modules are.
AC_DEFUN([LSC_SPLIT_FORTRAN], [
  MPI_FCFLAGS= MPI_FCLIBS=
  for lsc_word in $1; do
    AS_CASE([$lsc_word],
      [-I*|-D*], [MPI_FCFLAGS="$MPI_FCFLAGS $lsc_word"],
      [-L*|-l*|-Wl,-rpath*|-Wl,/*|-pthread], [MPI_FCLIBS="$MPI_FCLIBS $lsc_word"])
  done
])

# LSC_TRY_FORTRAN: whether FC knows what the module needs. Sets lsc_fortran.
AC_DEFUN([LSC_TRY_FORTRAN], [
  AC_MSG_CHECKING([whether ${FC:-the Fortran compiler} knows optional arguments of C functions])
  AC_LINK_IFELSE([AC_LANG_SOURCE([[
program conftest
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine exit_c(code, more) bind(c, name='exit')
      import
      integer(c_int), value :: code
      integer(c_int), intent(out), optional :: more
    end subroutine
  end interface
  call exit_c(0_c_int)
end program
  ]])], [lsc_fortran=yes])
  AC_MSG_RESULT([$lsc_fortran])
])

# LSC_TRY_MPI_F08: whether FC can use mpi_f08 with the flags of the wrapper. Sets lsc_mpi_f08.
AC_DEFUN([LSC_TRY_MPI_F08], [
  AC_PATH_PROGS([MPIFORT],
    [mpifort$lsc_mpi_suffix mpif90$lsc_mpi_suffix mpifort mpif90 mpifort.openmpi mpifort.mpich], [],
    [`AS_DIRNAME(["${MPICC:-/}"])`:$PATH])
  AS_IF([test -n "$MPIFORT"], [LSC_SPLIT_FORTRAN([`$MPIFORT -show 2>/dev/null`])])
  lsc_saved_FCFLAGS=$FCFLAGS lsc_saved_LIBS=$LIBS
  FCFLAGS="$FCFLAGS $MPI_FCFLAGS"
  LIBS="$MPI_FCLIBS $LIBS"
  AC_MSG_CHECKING([whether $FC can use mpi_f08])
  AC_LINK_IFELSE([AC_LANG_SOURCE([[
program conftest
  use mpi_f08
  implicit none
  type(MPI_Comm) :: comm
  comm = MPI_COMM_WORLD
  call MPI_Init()
  if (comm%MPI_VAL == 0) call MPI_Barrier(comm)
  call MPI_Finalize()
end program
  ]])], [lsc_mpi_f08=yes])
  AC_MSG_RESULT([$lsc_mpi_f08])
  FCFLAGS=$lsc_saved_FCFLAGS LIBS=$lsc_saved_LIBS
])

# LSC_FORTRAN_WARNINGS: LSC_FCFLAGS, where the compiler takes them.
AC_DEFUN([LSC_FORTRAN_WARNINGS], [
  AC_SUBST([LSC_FCFLAGS])
  lsc_saved_FCFLAGS=$FCFLAGS
  for lsc_flags in "-std=f2018 -Wall -Wextra" "-std=f2018"; do
    AS_IF([test -z "$LSC_FCFLAGS"], [
      FCFLAGS="$lsc_saved_FCFLAGS $lsc_flags -Werror"
      AC_COMPILE_IFELSE([AC_LANG_SOURCE([[
program conftest
  implicit none
end program
      ]])], [LSC_FCFLAGS=$lsc_flags])])
  done
  FCFLAGS=$lsc_saved_FCFLAGS
  AS_IF([test "$enable_werror" = yes && test -n "$LSC_FCFLAGS"], [LSC_FCFLAGS="$LSC_FCFLAGS -Werror"])
  LSC_FCFLAGS="$LSC_FCFLAGS $SANITIZER_FLAGS"
])

# LSC_FORTRAN: FC, MPI_FCFLAGS and MPI_FCLIBS, and how modules are written; after LSC_MPI. lsc_fortran is yes or no,
# lsc_fortran_text is for the table.
AC_DEFUN([LSC_FORTRAN], [
  AC_ARG_WITH([fortran], [AS_HELP_STRING([--without-fortran], [no Fortran module])])
  AC_ARG_VAR([MPIFORT], [MPI Fortran compiler wrapper, asked for its flags])
  AC_SUBST([MPI_FCFLAGS])
  AC_SUBST([MPI_FCLIBS])
  lsc_fortran=no lsc_mpi_f08=no
  AC_LANG_PUSH([Fortran])
  AC_FC_SRCEXT([f90], [], [:])
  AC_FC_MODULE_OUTPUT_FLAG([], [:])
  AS_IF(
    [test "$with_fortran" = no], [lsc_fortran_text="off: --without-fortran"],
    [test "$lsc_mpi" = no], [lsc_fortran_text="off: no MPI (the module writes files)"],
    [AS_IF([test -n "$FC"], [LSC_TRY_FORTRAN])
     AS_IF([test "$lsc_fortran" = no || test -z "$FC_MODOUT"], [
       lsc_fortran=no
       lsc_fortran_text="off: no Fortran 2018 compiler (gfortran)"
       AS_IF([test "${with_fortran:-auto}" = yes], [LSC_MISSING([Fortran], [gfortran], [--without-fortran])],
         [LSC_WANTED([gfortran])])
     ], [
       LSC_FORTRAN_WARNINGS
       AC_OPENMP
       LSC_TRY_MPI_F08
       AS_IF([test "$lsc_mpi_f08" = yes], [lsc_fortran_text="$FC, mpi_f08 by $MPIFORT"],
         [lsc_fortran_text="$FC, communicators as integers: no mpi_f08 of this compiler"])])])
  AC_LANG_POP([Fortran])
  AM_CONDITIONAL([WITH_FORTRAN], [test "$lsc_fortran" = yes])
  AM_CONDITIONAL([WITH_MPI_F08], [test "$lsc_mpi_f08" = yes])
])
