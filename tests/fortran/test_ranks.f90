! SPDX-License-Identifier: BSD-3-Clause
! test_ranks FOLDER MODE: each thread of rank r makes 10 + r outer calls with 3 inner ones each, on two OpenMP threads.
!   plain    communicator of mpi_f08, on the unknown lane     lanes    thread_lanes
!   integer  communicator as an integer                       world    no communicator
!   freed    the lower half of the ranks, whose communicator is freed at once
!   packed   compressed at level 3
!   null     MPI_COMM_NULL                                    late     nobody calls lsc_finalize
program test_ranks
  use, intrinsic :: iso_c_binding, only: c_int, c_int32_t
  use, intrinsic :: iso_fortran_env, only: error_unit
  use lanescope
  use mpi_f08
  implicit none

  character(len=1000) :: path, mode
  integer :: rank, ranks, provided
  logical :: is_active
  integer(c_int) :: stat
  character(len=300) :: errmsg
  type(MPI_Comm) :: half

  call get_command_argument(1, path)
  call get_command_argument(2, mode)
  path = trim(path)//'/run.h5'
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  select case (mode)
  case ('plain', 'late')
    call lsc_init(path, MPI_COMM_WORLD, label='ranks', stat=stat, errmsg=errmsg)
  case ('lanes')
    call lsc_init(path, MPI_COMM_WORLD, thread_lanes=.true., stat=stat, errmsg=errmsg)
  case ('integer')
    call lsc_init(path, MPI_COMM_WORLD%MPI_VAL, stat=stat, errmsg=errmsg)
  case ('packed')
    call lsc_init(path, MPI_COMM_WORLD, compress=11_c_int, stat=stat)
    if (stat /= LSC_INVALID) call MPI_Abort(MPI_COMM_WORLD, 1)
    call lsc_init(path, MPI_COMM_WORLD, stat=stat, errmsg=errmsg, compress=3_c_int)
  case ('world')
    call lsc_init(path, stat=stat, errmsg=errmsg)
  case ('freed')
    call MPI_Comm_split(MPI_COMM_WORLD, merge(0, MPI_UNDEFINED, 2*rank < ranks), rank, half)
    if (half /= MPI_COMM_NULL) then
      call lsc_init(path, half, stat=stat, errmsg=errmsg)
      call MPI_Comm_free(half)
    end if
  case ('null')
    call lsc_init(path, MPI_COMM_NULL, stat=stat, errmsg=errmsg)
    if (lsc_is_active()) stat = LSC_OK
    if (stat /= LSC_INVALID) call MPI_Abort(MPI_COMM_WORLD, 1)
    call MPI_Finalize()
    stop
  end select
  if (mode /= 'freed' .or. 2*rank < ranks) call check()
  call work()
  is_active = lsc_is_active()
  if (is_active .and. mode /= 'late') then
    call lsc_finalize(stat, errmsg)
    call check()
  end if
  call MPI_Finalize()

contains

  subroutine check()
    if (stat == LSC_OK) return
    write (error_unit, '(a)') trim(errmsg)
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine work()
    integer(c_int32_t) :: outer, inner
    integer :: turn, i, thread
    outer = lsc_region('outer', 'test_ranks.f90', 11_c_int)
    inner = lsc_region('inner')
    !$omp parallel do num_threads(2) schedule(static, 1) private(turn, i)
    do thread = 1, 2
      do turn = 1, 10 + rank
        call lsc_begin(outer)
        do i = 1, 3
          call lsc_begin(inner)
          call lsc_end(inner)
        end do
        call lsc_end(outer)
      end do
    end do
    !$omp end parallel do
  end subroutine

end program
