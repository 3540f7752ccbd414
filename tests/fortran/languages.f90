! SPDX-License-Identifier: BSD-3-Clause
! The Fortran side of languages.c. Each function returns a status, or 1000 where something else is wrong.
module languages
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use lanescope
  implicit none

  interface
    ! int c_work(int calls): the kernel in C.
    integer(c_int) function c_work(calls) bind(c)
      import :: c_int
      integer(c_int), value :: calls
    end function
  end interface

contains

  ! As a kernel that can also be used alone: it opens, or joins what is open.
  integer(c_int) function fortran_work(calls, thread_lanes) bind(c) result(stat)
    integer(c_int), value :: calls, thread_lanes
    integer(c_int) :: i
    call lsc_init('of_the_kernel.h5', thread_lanes=thread_lanes /= 0, stat=stat)
    if (stat /= LSC_OK) return
    do i = 1, calls
      call lsc_begin_name('shared')
      call lsc_end_name('shared')
    end do
    call lsc_finalize(stat)
    if (.not. lsc_is_active()) stat = 1000
  end function

  ! Opens a session, has C record into it, and writes it.
  integer(c_int) function fortran_program(path) bind(c) result(stat)
    character(kind=c_char), intent(in) :: path(*)
    character(len=1000) :: name
    integer :: i
    name = ''
    do i = 1, len(name)
      if (path(i) == c_null_char) exit
      name(i:i) = path(i)
    end do
    call lsc_init(name, stat=stat)
    if (stat == LSC_OK) stat = c_work(3)
    if (stat /= LSC_OK) return
    if (lsc_num_calls() /= 3) stat = 1000
    if (stat == LSC_OK) call lsc_finalize(stat)
    if (lsc_is_active()) stat = 1000
  end function

end module
