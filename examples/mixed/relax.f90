! SPDX-License-Identifier: BSD-3-Clause
! The kernels in Fortran of sim.py, which calls them by ctypes. They record into the session that Python opened.
module relax_kernel
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use lanescope
  implicit none

contains

  ! thread_lanes 1: calls from here on nest under those of Python and C on their thread; 0: on the unknown lane.
  subroutine join(thread_lanes) bind(c)
    integer(c_int), value :: thread_lanes
    call lsc_init('fortran.h5', thread_lanes=thread_lanes /= 0)
  end subroutine

  ! One sweep of Jacobi's method over the columns 2 to m - 1 of old, into u.
  subroutine relax(n, m, h, f, old, u) bind(c)
    integer(c_int), value :: n, m
    real(c_double), value :: h
    real(c_double), intent(in) :: f(n, m), old(n, m)
    real(c_double), intent(inout) :: u(n, m)
    integer :: j
    call lsc_begin_name('relax')
    do j = 2, m - 1
      call lsc_begin_name('column')
      u(2:n - 1, j) = (old(1:n - 2, j) + old(3:n, j) + old(2:n - 1, j - 1) + old(2:n - 1, j + 1) &
        + h**2*f(2:n - 1, j))/4
      call lsc_end_name('column')
    end do
    call lsc_end_name('relax')
  end subroutine

end module
