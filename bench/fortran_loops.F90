! SPDX-License-Identifier: BSD-3-Clause
! The loops of fortran.c, in the three bindings.
#define LOOP(name) subroutine name(trips, partner, first, buffer) bind(C)
LOOP(loop_mpif)
  use, intrinsic :: iso_c_binding
  implicit none
  include 'mpif.h'
  integer(c_int), value :: trips, partner, first
  real(c_double) :: buffer(1)
  integer :: i, ierr, status(MPI_STATUS_SIZE)
  do i = 1, trips
    if (first /= 0) call MPI_Send(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, ierr)
    call MPI_Recv(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, status, ierr)
    if (first == 0) call MPI_Send(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, ierr)
  end do
end subroutine

LOOP(loop_mpi)
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  integer(c_int), value :: trips, partner, first
  real(c_double) :: buffer(1)
  integer :: i, ierr, status(MPI_STATUS_SIZE)
  do i = 1, trips
    if (first /= 0) call MPI_Send(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, ierr)
    call MPI_Recv(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, status, ierr)
    if (first == 0) call MPI_Send(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, ierr)
  end do
end subroutine

LOOP(loop_f08)
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer(c_int), value :: trips, partner, first
  real(c_double) :: buffer(1)
  integer :: i
  type(MPI_Status) :: status
  do i = 1, trips
    if (first /= 0) call MPI_Send(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD)
    call MPI_Recv(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD, status)
    if (first == 0) call MPI_Send(buffer, 1, MPI_DOUBLE_PRECISION, partner, 0, MPI_COMM_WORLD)
  end do
end subroutine
