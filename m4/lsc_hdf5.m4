# SPDX-License-Identifier: BSD-3-Clause

# LSC_TRY_HDF5(WORDS, SOURCE): with these flags a program links that opens a file over MPI. Sets lsc_hdf5.
AC_DEFUN([LSC_TRY_HDF5], [
  AS_IF([test "$lsc_hdf5" = no && test -n "$1"], [
    LSC_SPLIT_FLAGS([$1], [HDF5_CPPFLAGS], [HDF5_LIBS])
    AC_MSG_CHECKING([for parallel HDF5 by $2])
    CPPFLAGS="$lsc_saved_CPPFLAGS $MPI_CPPFLAGS $HDF5_CPPFLAGS"
    LIBS="$HDF5_LIBS $MPI_LIBS $lsc_saved_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[
      #include <hdf5.h>
      #ifndef H5_HAVE_PARALLEL
      #error "a serial HDF5"
      #endif
    ]], [[return (int)H5Pset_fapl_mpio(H5P_DEFAULT, MPI_COMM_WORLD, MPI_INFO_NULL);]])],
      [lsc_hdf5=yes lsc_hdf5_source="$2"
       AC_MSG_RESULT([yes])],
      [AC_MSG_RESULT([no: serial, or of another MPI])])
  ])
])

# LSC_HDF5: HDF5_CPPFLAGS and HDF5_LIBS of a parallel HDF5 over the MPI that was found; lsc_hdf5_text is for the table.
AC_DEFUN([LSC_HDF5], [
  AC_SUBST([HDF5_CPPFLAGS])
  AC_SUBST([HDF5_LIBS])
  AC_ARG_VAR([H5PCC], [parallel HDF5 compiler wrapper, asked for its flags])
  lsc_hdf5=no
  AS_IF([test "$with_mpi" = no], [lsc_hdf5_text="off: --without-mpi"], [
    AS_CASE([$lsc_mpi_name],
      [openmpi], [lsc_modules="hdf5-openmpi hdf5" lsc_hdf5_package=libhdf5-openmpi-dev],
      [mpich], [lsc_modules="hdf5-mpich hdf5" lsc_hdf5_package=libhdf5-mpich-dev],
      [lsc_modules="hdf5-openmpi hdf5-mpich hdf5" lsc_hdf5_package=libhdf5-openmpi-dev])
    AC_PATH_PROGS([H5PCC], [h5pcc$lsc_mpi_suffix h5pcc h5pcc.$lsc_mpi_name])
    lsc_saved_CPPFLAGS=$CPPFLAGS lsc_saved_LIBS=$LIBS
    AS_IF([test "$lsc_mpi" = yes], [
      AS_IF([test -n "$PKG_CONFIG"], [
        for lsc_pc in $lsc_modules; do
          lsc_words=`$PKG_CONFIG --cflags --libs $lsc_pc 2>/dev/null`
          LSC_TRY_HDF5([$lsc_words], [pkg-config $lsc_pc])
        done])
      AS_IF([test -n "$H5PCC"], [
        # Of the libraries that a static HDF5 would need, a shared one needs none.
        lsc_words=`$H5PCC -shlib -show 2>/dev/null | tr ' ' '\n' | grep -E '^-(I|D|L|Wl,-rpath|lhdf5$)'`
        LSC_TRY_HDF5([$lsc_words], [$H5PCC])])])
    CPPFLAGS=$lsc_saved_CPPFLAGS LIBS=$lsc_saved_LIBS
    AS_IF([test "$lsc_hdf5" = yes], [lsc_hdf5_text="yes, by $lsc_hdf5_source"], [
      lsc_hdf5_text="not found"
      LSC_MISSING([parallel HDF5], [$lsc_hdf5_package], [--without-mpi])])
  ])
])
