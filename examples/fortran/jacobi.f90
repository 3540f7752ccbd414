! SPDX-License-Identifier: BSD-3-Clause
! Poisson's equation on the unit square by Jacobi's method, columns spread over ranks and each rank's over OpenMP
! threads. Compared with the exact solution; recorded, every thread on its lane, into one file.
!   mpifort -fopenmp jacobi.f90 -o jacobi $(pkg-config --cflags --libs lanescopef)
!   OMP_NUM_THREADS=2 mpirun -n 4 ./jacobi [POINTS a side] [SWEEPS] [FILE]
! On fewer cores than ranks times threads: OMP_WAIT_POLICY=passive, too.
program jacobi
  use, intrinsic :: iso_c_binding, only: c_int32_t
  use lanescope
  use mpi_f08
  implicit none

  integer, parameter :: wp = kind(1d0)
  real(wp), parameter :: pi = acos(-1._wp)
  integer :: n, sweeps, rank, ranks, provided, first, last, k
  character(len=1000) :: path
  real(wp), allocatable :: u(:, :), old(:, :), f(:, :)
  real(wp) :: h, error, bound
  integer(c_int32_t) :: solve, sweep, columns, halo

  n = argument(1, 64)
  sweeps = argument(2, 8000)
  path = 'jacobi.h5'
  if (command_argument_count() >= 3) call get_command_argument(3, path)

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call lsc_init(path, MPI_COMM_WORLD, label='Jacobi', thread_lanes=.true.)
  solve = lsc_region('solve', 'jacobi.f90', 30)
  sweep = lsc_region('sweep')
  columns = lsc_region('columns')
  halo = lsc_region('halo')

  first = rank*n/ranks + 1
  last = (rank + 1)*n/ranks
  h = 1._wp/(n + 1)
  allocate (u(0:n + 1, first - 1:last + 1), old(0:n + 1, first - 1:last + 1), f(0:n + 1, first - 1:last + 1))
  u = 0
  old = 0
  f = 2*pi**2*solution()

  call lsc_begin(solve)
  do k = 1, sweeps
    call lsc_begin(sweep)
    call exchange()
    call relax()
    call lsc_end(sweep)
  end do
  call lsc_end(solve)

  ! From zero each sweep brings the error of this solution down by the factor cos(pi h), to that of the grid.
  error = maxval(abs(u(1:n, first:last) - within(solution())))
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
  bound = discrete() - 1 + discrete()*cos(pi*h)**sweeps + 1e-12_wp
  if (rank == 0) print '(a,i0,a,es8.1,a,es8.1,2a)', 'jacobi on ', ranks, ' ranks: error', error, ' (bound', bound, &
    '), see ', trim(path)
  call lsc_finalize()
  call MPI_Finalize()
  if (.not. error <= bound) error stop 'the solution is wrong'

contains

  integer function argument(number, otherwise)
    integer, intent(in) :: number, otherwise
    character(len=20) :: text
    argument = otherwise
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *) argument
  end function

  ! sin(pi x) sin(pi y) on this rank's columns and those beside them.
  function solution() result(exact)
    real(wp) :: exact(0:n + 1, first - 1:last + 1)
    integer :: i, j
    do j = first - 1, last + 1
      exact(:, j) = [(sin(pi*i*h)*sin(pi*j*h), i = 0, n + 1)]
    end do
  end function

  function within(whole)
    real(wp), intent(in) :: whole(0:n + 1, first - 1:last + 1)
    real(wp) :: within(n, first:last)
    within = whole(1:n, first:last)
  end function

  ! The solution of the difference equation over the exact one.
  real(wp) function discrete()
    discrete = (pi*h)**2/(2*(1 - cos(pi*h)))
  end function

  ! The columns beside this rank's; there is nobody beyond the first and the last one.
  subroutine exchange()
    integer :: left, right
    call lsc_begin(halo)
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    call MPI_Sendrecv(u(:, first), n + 2, MPI_DOUBLE_PRECISION, left, 0, &
      u(:, last + 1), n + 2, MPI_DOUBLE_PRECISION, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Sendrecv(u(:, last), n + 2, MPI_DOUBLE_PRECISION, right, 1, &
      u(:, first - 1), n + 2, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call lsc_end(halo)
  end subroutine

  ! One sweep, each thread over its share of the columns.
  subroutine relax()
    integer :: j
    !$omp parallel private(j)
    call lsc_begin(columns)
    !$omp do
    do j = first - 1, last + 1
      old(:, j) = u(:, j)
    end do
    !$omp end do
    !$omp do
    do j = first, last
      u(1:n, j) = (old(0:n - 1, j) + old(2:n + 1, j) + old(1:n, j - 1) + old(1:n, j + 1) + h**2*f(1:n, j))/4
    end do
    !$omp end do nowait
    call lsc_end(columns)
    !$omp end parallel
  end subroutine

end program
