! SPDX-License-Identifier: BSD-3-Clause
! test_finalize_fortran FOLDER: as test_finalize, ended by MPI_Finalize of mpi_f08.
program test_finalize
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none

  interface
    ! lsc_status lsc_session_open(const lsc_session_options *options, lsc_session *session);
    integer(c_int) function lsc_session_open(options, session) bind(c)
      import
      type(c_ptr), value :: options
      integer(c_int64_t), intent(out) :: session
    end function
    ! lsc_status lsc_region(const char *name, lsc_region_id *region);
    integer(c_int) function lsc_region(name, region) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(out) :: region
    end function
    ! lsc_status lsc_begin(lsc_session session, lsc_region_id region);
    integer(c_int) function lsc_begin(session, region) bind(c)
      import
      integer(c_int64_t), value :: session
      integer(c_int32_t), value :: region
    end function
    ! lsc_status lsc_end(lsc_session session, lsc_region_id region);
    integer(c_int) function lsc_end(session, region) bind(c)
      import
      integer(c_int64_t), value :: session
      integer(c_int32_t), value :: region
    end function
    ! lsc_status lsc_attach_fortran(lsc_session session, int comm, double timeout);
    integer(c_int) function lsc_attach_fortran(session, comm, timeout) bind(c)
      import
      integer(c_int64_t), value :: session
      integer(c_int), value :: comm
      real(c_double), value :: timeout
    end function
    ! lsc_status lsc_collect_at_exit(lsc_session session, const char *path, const lsc_save_options *options);
    integer(c_int) function lsc_collect_at_exit(session, path, options) bind(c)
      import
      integer(c_int64_t), value :: session
      character(kind=c_char), intent(in) :: path(*)
      type(c_ptr), value :: options
    end function
  end interface

  integer(c_int64_t) :: session
  integer(c_int32_t) :: work
  integer :: rank, turn, failed
  character(len=1000) :: folder

  call get_command_argument(1, folder)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  failed = lsc_session_open(c_null_ptr, session)
  failed = failed + lsc_attach_fortran(session, MPI_COMM_WORLD%MPI_VAL, 60.0_c_double)
  failed = failed + lsc_collect_at_exit(session, trim(folder)//"/run.h5"//c_null_char, c_null_ptr)
  failed = failed + lsc_region("work"//c_null_char, work)
  do turn = 1, 5 + rank
    failed = failed + lsc_begin(session, work) + lsc_end(session, work)
  end do
  call MPI_Finalize()
  if (failed /= 0) error stop 1
end program
