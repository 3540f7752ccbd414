! SPDX-License-Identifier: BSD-3-Clause
! test_life FOLDER: every procedure at every time, and what bad arguments give; files go into FOLDER.
! test_life FOLDER speak: the same mistakes without stat and errmsg.
program test_life
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t, c_int64_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  use lanescope
  implicit none

  character(len=1000) :: folder, mode
  integer :: failures

  failures = 0
  call get_command_argument(1, folder)
  call get_command_argument(2, mode)
  if (mode == 'speak') then
    call speak()
  else
    call without_a_session()
    call names()
    call bad_inits()
    call recording()
    call calls_left_open()
    call failed_file()
  end if
  if (failures > 0) error stop 1

contains

  subroutine check(what, found, expected)
    character(len=*), intent(in) :: what
    integer(c_int), intent(in) :: found, expected
    if (found == expected) return
    failures = failures + 1
    write (error_unit, '(3a,i0,a,i0)') 'not ok ', what, ': ', found, ', not ', expected
  end subroutine

  subroutine check_number(what, found, expected)
    character(len=*), intent(in) :: what
    integer(c_int64_t), intent(in) :: found
    integer, intent(in) :: expected
    call check(what, int(found, c_int), int(expected, c_int))
  end subroutine

  subroutine check_true(what, is_true)
    character(len=*), intent(in) :: what
    logical, intent(in) :: is_true
    call check(what, merge(1_c_int, 0_c_int, is_true), 1_c_int)
  end subroutine

  logical function is_there(name)
    character(len=*), intent(in) :: name
    inquire (file=trim(folder)//'/'//name, exist=is_there)
  end function

  ! The region's completed calls.
  integer function calls_of(id)
    integer(c_int32_t), intent(in) :: id
    type(lsc_region_summary) :: summary
    integer(c_int) :: stat
    call lsc_region_stats(id, summary, stat)
    call check('lsc_region_stats', stat, LSC_OK)
    calls_of = int(summary%calls)
  end function

  ! Before lsc_init, and after lsc_finalize.
  subroutine without_a_session()
    integer(c_int32_t) :: id
    integer(c_int) :: stat
    type(lsc_region_summary) :: summary
    character(len=200) :: errmsg
    id = lsc_region('early', stat=stat)
    call check('lsc_region without a session', stat, LSC_OK)
    call lsc_begin(id)
    call lsc_end(id)
    call lsc_begin_name('early')
    call lsc_end_name('early')
    call lsc_begin(id, stat)
    call check('lsc_begin without a session', stat, LSC_INACTIVE)
    call lsc_end(id, stat)
    call check('lsc_end without a session', stat, LSC_INACTIVE)
    call lsc_begin_name('early', stat)
    call check('lsc_begin_name without a session', stat, LSC_INACTIVE)
    call lsc_end_name('early', stat)
    call check('lsc_end_name without a session', stat, LSC_INACTIVE)
    call lsc_flush(stat)
    call check('lsc_flush without a session', stat, LSC_INACTIVE)
    call lsc_reset(stat)
    call check('lsc_reset without a session', stat, LSC_INACTIVE)
    call check_number('lsc_num_calls without a session', lsc_num_calls(stat), 0)
    call check('lsc_num_calls without a session', stat, LSC_INACTIVE)
    call lsc_region_stats(id, summary, stat)
    call check('lsc_region_stats without a session', stat, LSC_INACTIVE)
    call check_number('summary without a session', summary%calls, 0)
    errmsg = 'as it was'
    call lsc_finalize(stat, errmsg)
    call check('lsc_finalize without a session', stat, LSC_INACTIVE)
    call check_true('errmsg of lsc_finalize', index(errmsg, 'lsc_init') > 0)
    call check_true('no session is active', .not. lsc_is_active())
    call check_true('the clock runs', lsc_now_ns() > 0)
  end subroutine

  subroutine check_name(what, name, expected)
    character(len=*), intent(in) :: what, name
    integer(c_int), intent(in) :: expected
    integer(c_int32_t) :: id
    integer(c_int) :: stat
    character(len=200) :: errmsg
    errmsg = 'as it was'
    id = lsc_region(name, stat=stat, errmsg=errmsg)
    call check(what, stat, expected)
    call check_true(what//': the handle', (id == LSC_NO_REGION) .eqv. (expected /= LSC_OK))
    call check_true(what//': errmsg', (errmsg == 'as it was') .eqv. (expected == LSC_OK))
  end subroutine

  subroutine names()
    character(len=LSC_MAX_NAME + 1) :: long
    long = repeat('x', LSC_MAX_NAME)
    call check_name('no name', '', LSC_BAD_NAME)
    call check_name('a blank name', '    ', LSC_BAD_NAME)
    call check_name('a NUL in a name', 'a'//char(0)//'b', LSC_BAD_NAME)
    call check_name('a name that is not UTF-8', 'a'//char(255), LSC_BAD_NAME)
    call check_name('the longest name', long, LSC_OK)
    call check_name('a name that is too long', long(:LSC_MAX_NAME)//'x', LSC_BAD_NAME)
    call check_name('letters beyond ASCII', 'Lösung', LSC_OK)
    call check_true('blanks at the end', lsc_region('solve') == lsc_region('solve   '))
    call check_true('blanks in front', lsc_region('solve') /= lsc_region('  solve'))
    call check_true('capitals', lsc_region('solve') /= lsc_region('Solve'))
    call check_true('source', lsc_region('solve', 'test_life.f90', 7_c_int) == lsc_region('solve'))
  end subroutine

  subroutine bad_inits()
    integer(c_int) :: stat
    character(len=200) :: errmsg
    call lsc_init('', stat=stat, errmsg=errmsg)
    call check('a path of no length', stat, LSC_INVALID)
    call check_true('its errmsg', index(errmsg, 'empty') > 0)
    call lsc_init('   ', stat=stat)
    call check('a blank path', stat, LSC_INVALID)
    call lsc_init(trim(folder)//'/bad.h5', label=char(255), stat=stat)
    call check('a label that is not UTF-8', stat, LSC_BAD_NAME)
    call lsc_init(trim(folder)//'/bad.h5', comm=0_c_int, stat=stat)
    call check('a communicator without MPI', stat, LSC_NO_MPI)
    call check_true('a failed lsc_init opens nothing', .not. lsc_is_active())
  end subroutine

  subroutine bad_handles(solve)
    integer(c_int32_t), intent(in) :: solve
    integer(c_int32_t), parameter :: bad(4) = [LSC_NO_REGION, -huge(solve), huge(solve), 1000000_c_int32_t]
    integer(c_int) :: stat
    integer :: i
    do i = 1, size(bad)
      call lsc_begin(bad(i))
      call lsc_begin(bad(i), stat)
      call check('lsc_begin of no handle', stat, LSC_INVALID)
      call lsc_end(bad(i))
      call lsc_end(bad(i), stat)
      call check('lsc_end of no handle', stat, LSC_NO_BEGIN)
    end do
    call lsc_begin(int(solve, c_int64_t) + 2_c_int64_t**32, stat)
    call check('lsc_begin of a handle beyond 32 bits', stat, LSC_INVALID)
    call lsc_begin_name('  ', stat)
    call check('lsc_begin_name of a blank name', stat, LSC_BAD_NAME)
    call lsc_end_name('', stat)
    call check('lsc_end_name of no name', stat, LSC_BAD_NAME)
  end subroutine

  subroutine crossing(solve, other)
    integer(c_int32_t), intent(in) :: solve, other
    integer(c_int) :: stat
    call lsc_end(solve, stat)
    call check('an end without a begin', stat, LSC_NO_BEGIN)
    call lsc_begin(solve, stat)
    call check('lsc_begin', stat, LSC_OK)
    call lsc_begin(int(other, c_int64_t), stat)
    call check('lsc_begin of a wide handle', stat, LSC_OK)
    call lsc_end(solve, stat)
    call check('ends that cross', stat, LSC_CROSSED)
    call lsc_end(LSC_NO_REGION, stat)
    call check('an end of no handle within a call', stat, LSC_CROSSED)
    call lsc_end(int(other, c_int64_t), stat)
    call check('lsc_end of a wide handle', stat, LSC_OK)
    call lsc_end_name('solve  ', stat)
    call check('lsc_end_name', stat, LSC_OK)
  end subroutine

  subroutine recording()
    integer(c_int32_t) :: solve, other
    integer(c_int) :: stat
    character(len=20) :: errmsg
    solve = lsc_region('solve')
    other = lsc_region('other')
    errmsg = 'as it was'
    call lsc_init(trim(folder)//'/life.h5   ', label='life  ', stat=stat, errmsg=errmsg)
    call check('lsc_init', stat, LSC_OK)
    call check_true('errmsg of what went well', errmsg == 'as it was')
    call check_true('a session is active', lsc_is_active())
    call bad_handles(solve)
    call check_number('bad handles record nothing', lsc_num_calls(), 0)
    call crossing(solve, other)
    call lsc_begin_name('solve')
    call lsc_end(solve)
    call check_number('lsc_num_calls', lsc_num_calls(stat), 3)
    call check('lsc_num_calls', stat, LSC_OK)
    call check('calls of solve', calls_of(solve), 2)
    call check('calls of other', calls_of(other), 1)
    call lsc_reset(stat)
    call check('lsc_reset', stat, LSC_OK)
    call check('calls after lsc_reset', calls_of(solve), 0)
    call lsc_begin(solve)
    call lsc_end(solve)
    call lsc_flush(stat)
    call check('lsc_flush', stat, LSC_OK)
    call check_true('life.1.h5 is there', is_there('life.1.h5'))
    call check_number('lsc_num_calls after lsc_flush', lsc_num_calls(), 0)
    call lsc_begin(other)
    call lsc_end(other)
    call lsc_init('ignored.h5', stat=stat)
    call check('lsc_init a second time', stat, LSC_OK)
    call lsc_finalize(stat)
    call check('lsc_finalize of who joined', stat, LSC_OK)
    call check_true('it is open still', lsc_is_active())
    call lsc_finalize(stat)
    call check('lsc_finalize', stat, LSC_OK)
    call check_true('life.h5 is there', is_there('life.h5'))
    call without_a_session()
  end subroutine

  ! A begin without an end.
  subroutine calls_left_open()
    integer(c_int) :: stat
    call lsc_init(trim(folder)//'/open.h5')
    call lsc_begin_name('outer')
    call lsc_begin_name('inner')
    call lsc_end_name('inner')
    call lsc_begin_name('inner')
    call lsc_finalize(stat)
    call check('lsc_finalize with open calls', stat, LSC_OK)
    call lsc_end_name('inner', stat)
    call check('the end after lsc_finalize', stat, LSC_INACTIVE)
  end subroutine

  ! What cannot be written can be written elsewhere.
  subroutine failed_file()
    integer(c_int) :: stat
    character(len=500) :: errmsg
    call lsc_init(trim(folder)//'/missing/run.h5', stat=stat)
    call check('lsc_init', stat, LSC_OK)
    call lsc_begin_name('kept')
    call lsc_end_name('kept')
    call lsc_flush(stat)
    call check('lsc_flush into a folder that is not there', stat, LSC_IO)
    call lsc_finalize(stat, errmsg)
    call check('lsc_finalize into a folder that is not there', stat, LSC_IO)
    call check_true('errmsg names the folder', index(errmsg, 'missing') > 0)
    call check_number('nothing is lost', lsc_num_calls(), 1)
    call lsc_finalize(path=' ', stat=stat)
    call check('lsc_finalize to a blank path', stat, LSC_INVALID)
    call lsc_finalize(path=trim(folder)//'/kept.h5', stat=stat)
    call check('lsc_finalize elsewhere', stat, LSC_OK)
    call check_true('kept.h5 is there', is_there('kept.h5'))
  end subroutine

  subroutine speak()
    integer(c_int32_t) :: id
    integer(c_int64_t) :: calls
    character(len=200) :: errmsg
    integer(c_int) :: stat
    id = lsc_region(' ')
    call lsc_begin(id)
    call lsc_end(id)
    call lsc_begin_name(' ')
    call lsc_end_name(' ')
    call lsc_flush()
    call lsc_finalize(errmsg=errmsg)
    call lsc_finalize(stat)
    calls = lsc_num_calls()
    call lsc_init(' ')
    if (calls == 0) call lsc_finalize()
  end subroutine

end program
