! SPDX-License-Identifier: BSD-3-Clause
! Module lanescope where MPI has mpi_f08. To be compiled after lanescope_common.f90, with the MPI compiler.
module lanescope
  use, intrinsic :: iso_c_binding, only: c_int
  use lanescope_common
  use mpi_f08, only: MPI_Comm
  implicit none
  private :: c_int, MPI_Comm, init_f08, lsc_init_on

  interface lsc_init
    module procedure init_f08
  end interface

contains

  subroutine init_f08(path, comm, label, thread_lanes, stat, errmsg, compress)
    character(len=*), intent(in) :: path
    type(MPI_Comm), intent(in) :: comm
    character(len=*), intent(in), optional :: label
    logical, intent(in), optional :: thread_lanes
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int), intent(in), optional :: compress
    call lsc_init_on(path, comm%MPI_VAL, label, thread_lanes, stat, errmsg, compress)
  end subroutine

end module
