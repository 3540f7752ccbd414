! SPDX-License-Identifier: BSD-3-Clause
! Module lanescope where there is no mpi_f08: communicators are integers. To be compiled after lanescope_common.f90.
module lanescope
  use lanescope_common
  implicit none
  private :: lsc_init_on
end module
