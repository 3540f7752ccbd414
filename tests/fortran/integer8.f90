! SPDX-License-Identifier: BSD-3-Clause
! Compiled with -fdefault-integer-8: handles kept in default integers. integer8 PATH
program integer8
  use lanescope
  implicit none
  integer :: id, i
  character(len=1000) :: path
  type(lsc_region_summary) :: summary
  if (kind(id) /= 8) error stop 'this is to be compiled with -fdefault-integer-8'
  call get_command_argument(1, path)
  call lsc_init(path, label='eight')
  id = lsc_region('wide')
  do i = 1, 5
    call lsc_begin(id)
    call lsc_end(id)
  end do
  call lsc_region_stats(id, summary)
  if (summary%calls /= 5 .or. lsc_num_calls() /= 5) error stop 'there are not 5 calls'
  call lsc_finalize()
end program
