! SPDX-License-Identifier: BSD-3-Clause
! The loops of bench_fortran.c, as a Fortran program has them.
module bench_fortran
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t
  use lanescope
  implicit none

contains

  ! void fortran_pairs(lsc_region_id region, int pairs);
  subroutine fortran_pairs(region, pairs) bind(c)
    integer(c_int32_t), value :: region
    integer(c_int), value :: pairs
    integer(c_int) :: i
    do i = 1, pairs
      call lsc_begin(region)
      call lsc_end(region)
    end do
  end subroutine

  ! void fortran_named_pairs(int pairs);
  subroutine fortran_named_pairs(pairs) bind(c)
    integer(c_int), value :: pairs
    integer(c_int) :: i
    do i = 1, pairs
      call lsc_begin_name('bench by name')
      call lsc_end_name('bench by name')
    end do
  end subroutine

end module
