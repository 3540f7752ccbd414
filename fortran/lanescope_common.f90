! SPDX-License-Identifier: BSD-3-Clause
! The part of module lanescope that names no MPI type. Programs use lanescope, which has all of this.
!
! Every procedure may be called at any time. At the wrong time, or with bad arguments, it has a status and does no harm:
!   stat     receives it, LSC_OK or another LSC_...
!   errmsg   receives what went wrong, and what to do about it; unchanged where nothing did
! Without both a failure is said in one line on error_unit; lsc_begin, lsc_end and those by name never say anything.
! Nothing stops the program.
module lanescope_common
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_f_pointer, c_int, c_int32_t, c_int64_t, c_loc, &
    c_null_char, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private

  public :: lsc_init, lsc_finalize, lsc_flush, lsc_reset, lsc_is_active, lsc_now_ns
  public :: lsc_region, lsc_begin, lsc_end, lsc_begin_name, lsc_end_name
  public :: lsc_num_calls, lsc_region_stats, lsc_region_summary
  public :: lsc_init_on ! for module lanescope

  ! Statuses, as lsc_status of lanescope.h.
  integer(c_int), parameter, public :: &
    LSC_OK = 0, LSC_INACTIVE = 1, LSC_NO_BEGIN = 2, LSC_CROSSED = 3, LSC_STALE = 4, LSC_INVALID = 5, &
    LSC_BAD_NAME = 6, LSC_NO_MEMORY = 7, LSC_LIMIT = 8, LSC_BUSY = 9, LSC_TIMEOUT = 10, LSC_APART = 11, &
    LSC_COLLECTED = 12, LSC_IO = 13, LSC_HDF5 = 14, LSC_MPI = 15, LSC_NO_MPI = 16, LSC_TASK_STATE = 17

  ! The handle that a failed lsc_region gives. Its calls are not recorded.
  integer(c_int32_t), parameter, public :: LSC_NO_REGION = -1_c_int32_t
  ! Longest name of a region or file, in bytes.
  integer(c_int), parameter, public :: LSC_MAX_NAME = 4096_c_int

  integer(c_int), parameter :: API_FORTRAN = 2_c_int ! LSC_API_FORTRAN of lanescope_binding.h

  ! lsc_region_summary of lanescope.h: the completed calls of a region, times in nanoseconds.
  type, bind(c) :: lsc_region_summary
    integer(c_int64_t) :: calls = 0
    integer(c_int64_t) :: exclusive_total = 0 ! without the completed calls inside them
    integer(c_int64_t) :: total = 0, minimum = 0, maximum = 0 ! of the durations
    integer(c_int64_t) :: first = 0, last = 0 ! durations of the first and of the last call
    integer(c_int64_t) :: start_minimum = 0, end_maximum = 0
    integer(c_int64_t) :: gpu_count = 0, gpu_total = 0
    real(c_double) :: mean = 0, m2 = 0 ! m2: sum of squared deviations from the mean
  end type

  ! lsc_init_options of lanescope_file.h.
  type, bind(c) :: init_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: label = c_null_ptr
    type(c_ptr) :: comm = c_null_ptr
    real(c_double) :: timeout = 0
    integer(c_int) :: replace = 0
    integer(c_int) :: quiet = 0
    integer(c_int) :: compress = 0
  end type

  interface
    ! lsc_status lsc_init_as(lsc_api api, const char *path, const lsc_init_options *options);
    integer(c_int) function c_init_as(api, path, options) bind(c, name='lsc_init_as')
      import :: c_char, c_int, init_options
      integer(c_int), value :: api
      character(kind=c_char), intent(in) :: path(*)
      type(init_options), intent(in) :: options
    end function
    ! lsc_status lsc_finalize_as(lsc_api api, const char *path);
    integer(c_int) function c_finalize_as(api, path) bind(c, name='lsc_finalize_as')
      import :: c_char, c_int
      integer(c_int), value :: api
      character(kind=c_char), intent(in), optional :: path(*)
    end function
    ! lsc_status lsc_flush(void);
    integer(c_int) function c_flush() bind(c, name='lsc_flush')
      import :: c_int
    end function
    ! lsc_status lsc_fortran_lanes(int thread_lanes);
    integer(c_int) function c_fortran_lanes(thread_lanes) bind(c, name='lsc_fortran_lanes')
      import :: c_int
      integer(c_int), value :: thread_lanes
    end function
    ! lsc_session lsc_session_default(void);
    integer(c_int64_t) function c_session_default() bind(c, name='lsc_session_default')
      import :: c_int64_t
    end function
    ! lsc_status lsc_reset(lsc_session session);
    integer(c_int) function c_reset(session) bind(c, name='lsc_reset')
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: session
    end function
    ! lsc_status lsc_uncollected(lsc_session session, uint64_t *calls);
    integer(c_int) function c_uncollected(session, calls) bind(c, name='lsc_uncollected')
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: session
      integer(c_int64_t), intent(out) :: calls
    end function
    ! lsc_status lsc_region_stats(lsc_session session, lsc_region_id region, lsc_region_summary *summary);
    integer(c_int) function c_region_stats(session, region, summary) bind(c, name='lsc_region_stats')
      import :: c_int, c_int32_t, c_int64_t, lsc_region_summary
      integer(c_int64_t), value :: session
      integer(c_int32_t), value :: region
      type(lsc_region_summary), intent(out) :: summary
    end function
    ! lsc_status lsc_fortran_region(const char *name, size_t name_length, const char *file, size_t file_length,
    !                               int64_t line, lsc_region_id *region);
    integer(c_int) function c_region(name, name_length, file, file_length, line, region) &
      bind(c, name='lsc_fortran_region')
      import :: c_char, c_int, c_int32_t, c_int64_t, c_size_t
      character(kind=c_char), intent(in) :: name(*), file(*)
      integer(c_size_t), value :: name_length, file_length
      integer(c_int64_t), value :: line
      integer(c_int32_t), intent(out) :: region
    end function
    ! void lsc_fortran_begin_name(const char *name, size_t length, int *stat);
    subroutine c_begin_name(name, length, stat) bind(c, name='lsc_fortran_begin_name')
      import :: c_char, c_int, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
      integer(c_int), intent(out), optional :: stat
    end subroutine
    ! void lsc_fortran_end_name(const char *name, size_t length, int *stat);
    subroutine c_end_name(name, length, stat) bind(c, name='lsc_fortran_end_name')
      import :: c_char, c_int, c_size_t
      character(kind=c_char), intent(in) :: name(*)
      integer(c_size_t), value :: length
      integer(c_int), intent(out), optional :: stat
    end subroutine
    ! const char *lsc_message(void);
    type(c_ptr) function c_message() bind(c, name='lsc_message')
      import :: c_ptr
    end function
    ! const char *lsc_strerror(lsc_status status);
    type(c_ptr) function c_strerror(status) bind(c, name='lsc_strerror')
      import :: c_int, c_ptr
      integer(c_int), value :: status
    end function
    ! size_t strlen(const char *text);
    integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function
  end interface

  ! CLOCK_MONOTONIC in nanoseconds: the clock of every time in a file.
  interface
    ! int64_t lsc_now_ns(void);
    integer(c_int64_t) function lsc_now_ns() bind(c, name='lsc_now_ns')
      import :: c_int64_t
    end function
  end interface

  ! call lsc_begin(id [, stat]): enters a region. The fastest way: the library's own function, without a wrapper.
  interface lsc_begin
    ! void lsc_fortran_begin(lsc_region_id region, int *stat);
    subroutine lsc_begin_id(id, stat) bind(c, name='lsc_fortran_begin')
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: id
      integer(c_int), intent(out), optional :: stat
    end subroutine
    module procedure begin_long
  end interface

  ! call lsc_end(id [, stat]): leaves the innermost call of this thread, which must be of this region.
  interface lsc_end
    ! void lsc_fortran_end(lsc_region_id region, int *stat);
    subroutine lsc_end_id(id, stat) bind(c, name='lsc_fortran_end')
      import :: c_int, c_int32_t
      integer(c_int32_t), value :: id
      integer(c_int), intent(out), optional :: stat
    end subroutine
    module procedure end_long
  end interface

  ! call lsc_init(path [, comm] [, label] [, thread_lanes] [, stat] [, errmsg] [, compress]): opens the session of the
  ! process, or joins the one that is open, whichever language opened it: then path, comm, label and compress are the
  ! opener's.
  !   path          of the file, from the current folder of now
  !   comm          of the ranks that share the file, as an integer or of mpi_f08; without it MPI_COMM_WORLD where MPI
  !                 runs, else this process alone. Collective over it. May be freed afterwards
  !   label         kept in the file
  !   thread_lanes  .true.: calls from here on are on their thread's lane, and nest in what Python or C has open there.
  !                 Else on the lane -1 of calls whose thread is not known. Not while calls of Fortran are open
  interface lsc_init
    module procedure init_alone, init_integer
  end interface

  interface lsc_region_stats
    module procedure stats_id, stats_long
  end interface

contains

  ! A C string, as far as it has room.
  subroutine copy_c(address, text)
    type(c_ptr), intent(in) :: address
    character(len=*), intent(out) :: text
    character(kind=c_char), pointer :: chars(:)
    integer :: i
    text = ''
    call c_f_pointer(address, chars, [c_strlen(address)])
    do i = 1, min(size(chars), len(text))
      text(i:i) = chars(i)
    end do
  end subroutine

  subroutine finish(what, status, stat, errmsg)
    character(len=*), intent(in) :: what
    integer(c_int), intent(in) :: status
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=2048) :: text
    if (present(stat)) stat = status
    if (status == LSC_OK) return
    call copy_c(c_message(), text)
    if (text == '') call copy_c(c_strerror(status), text)
    if (present(errmsg)) errmsg = text
    if (.not. (present(stat) .or. present(errmsg))) write (error_unit, '(4a)') 'lanescope: ', what, ': ', trim(text)
  end subroutine

  subroutine lsc_init_on(path, comm, label, thread_lanes, stat, errmsg, compress)
    character(len=*), intent(in) :: path
    integer(c_int), intent(in), optional, target :: comm
    character(len=*), intent(in), optional :: label
    logical, intent(in), optional :: thread_lanes
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int), intent(in), optional :: compress
    type(init_options) :: options
    character(kind=c_char, len=:), allocatable, target :: label_text
    integer(c_int) :: status
    options%size = storage_size(options) / 8
    if (present(comm)) options%comm = c_loc(comm)
    if (present(label)) then
      label_text = trim(label)//c_null_char
      options%label = c_loc(label_text)
    end if
    if (present(compress)) options%compress = compress
    status = c_init_as(API_FORTRAN, trim(path)//c_null_char, options)
    if (status == LSC_OK .and. present(thread_lanes)) status = c_fortran_lanes(merge(1_c_int, 0_c_int, thread_lanes))
    call finish('lsc_init', status, stat, errmsg)
  end subroutine

  subroutine init_alone(path, label, thread_lanes, stat, errmsg, compress)
    character(len=*), intent(in) :: path
    character(len=*), intent(in), optional :: label
    logical, intent(in), optional :: thread_lanes
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int), intent(in), optional :: compress
    call lsc_init_on(path, label=label, thread_lanes=thread_lanes, stat=stat, errmsg=errmsg, compress=compress)
  end subroutine

  subroutine init_integer(path, comm, label, thread_lanes, stat, errmsg, compress)
    character(len=*), intent(in) :: path
    integer(c_int), intent(in) :: comm
    character(len=*), intent(in), optional :: label
    logical, intent(in), optional :: thread_lanes
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int), intent(in), optional :: compress
    call lsc_init_on(path, comm, label, thread_lanes, stat, errmsg, compress)
  end subroutine

  ! Of who opened the session by lsc_init: writes the file and closes the session; collective over the ranks. Of who
  ! joined it: nothing happens, and the status is LSC_OK. path: another file than the one given at the opening. If it
  ! fails, the session is open and holds what it held.
  subroutine lsc_finalize(stat, errmsg, path)
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=*), intent(in), optional :: path
    integer(c_int) :: status
    if (present(path)) then
      status = c_finalize_as(API_FORTRAN, trim(path)//c_null_char)
    else
      status = c_finalize_as(API_FORTRAN)
    end if
    call finish('lsc_finalize', status, stat, errmsg)
  end subroutine

  ! Writes the calls that were completed since the last flush into a file of their own, run.1.h5, run.2.h5, ..., and
  ! goes on recording. Collective over the ranks.
  subroutine lsc_flush(stat, errmsg)
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish('lsc_flush', c_flush(), stat, errmsg)
  end subroutine

  ! Drops the calls of this process that were completed since the last flush: they come into no file.
  subroutine lsc_reset(stat, errmsg)
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish('lsc_reset', c_reset(c_session_default()), stat, errmsg)
  end subroutine

  ! Whether a session is open, whoever opened it.
  logical function lsc_is_active()
    lsc_is_active = c_session_default() /= 0
  end function

  ! Calls of this process, of every language, that were completed since the last flush or reset; 0 on failure, and
  ! without a session, which is LSC_INACTIVE.
  function lsc_num_calls(stat, errmsg) result(calls)
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: calls
    calls = 0
    call finish('lsc_num_calls', c_uncollected(c_session_default(), calls), stat, errmsg)
  end function

  ! The handle of the region of that name without the blanks at its end, the same as that of C and Python; to be kept in
  ! an integer(c_int32_t). A blank name is LSC_BAD_NAME and gives LSC_NO_REGION, which is safe to use. file, line: of
  ! the source; the first that gives them decides.
  function lsc_region(name, file, line, stat, errmsg) result(id)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer(c_int), intent(in), optional :: line
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t) :: id
    integer(c_int64_t) :: number
    integer(c_int) :: status
    number = 0
    if (present(line)) number = line
    if (present(file)) then
      status = c_region(name, trimmed(name), file, trimmed(file), number, id)
    else
      status = c_region(name, trimmed(name), '', 0_c_size_t, number, id)
    end if
    call finish('lsc_region', status, stat, errmsg)
  end function

  pure integer(c_size_t) function trimmed(text)
    character(len=*), intent(in) :: text
    trimmed = int(len_trim(text), c_size_t)
  end function

  ! lsc_begin and lsc_end of the region of that name, which is looked up each time, without a lock.
  subroutine lsc_begin_name(name, stat)
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: stat
    call c_begin_name(name, trimmed(name), stat)
  end subroutine

  subroutine lsc_end_name(name, stat)
    character(len=*), intent(in) :: name
    integer(c_int), intent(out), optional :: stat
    call c_end_name(name, trimmed(name), stat)
  end subroutine

  ! Handles that were kept in a wider integer.
  pure integer(c_int32_t) function narrow(id)
    integer(c_int64_t), intent(in) :: id
    narrow = LSC_NO_REGION
    if (id >= 0 .and. id <= huge(narrow)) narrow = int(id, c_int32_t)
  end function

  subroutine begin_long(id, stat)
    integer(c_int64_t), intent(in) :: id
    integer(c_int), intent(out), optional :: stat
    call lsc_begin_id(narrow(id), stat)
  end subroutine

  subroutine end_long(id, stat)
    integer(c_int64_t), intent(in) :: id
    integer(c_int), intent(out), optional :: stat
    call lsc_end_id(narrow(id), stat)
  end subroutine

  ! call lsc_region_stats(id, summary [, stat] [, errmsg]): the calls of the region in this process that were completed
  ! since the last flush or reset. Takes time in proportion to all that was recorded.
  subroutine stats_id(id, summary, stat, errmsg)
    integer(c_int32_t), intent(in) :: id
    type(lsc_region_summary), intent(out) :: summary
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call finish('lsc_region_stats', c_region_stats(c_session_default(), id, summary), stat, errmsg)
  end subroutine

  subroutine stats_long(id, summary, stat, errmsg)
    integer(c_int64_t), intent(in) :: id
    type(lsc_region_summary), intent(out) :: summary
    integer(c_int), intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call stats_id(narrow(id), summary, stat, errmsg)
  end subroutine

end module
