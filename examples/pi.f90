! SPDX-License-Identifier: BSD-3-Clause
! Pi by the midpoint rule: broadcast, reduce. Shows `use mpi`.
program pi
  use mpi
  implicit none
  integer :: ierror, rank, ranks, steps, i
  double precision :: x, part, total

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (rank == 0) steps = 1000000
  call MPI_Bcast(steps, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  part = 0
  do i = rank, steps - 1, ranks
    x = (i + 0.5d0) / steps
    part = part + 4 / (1 + x * x)
  end do
  call MPI_Reduce(part / steps, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(a, f12.9)', 'pi is about ', total
  call MPI_Finalize(ierror)
  if (rank == 0 .and. abs(total - acos(-1d0)) > 1d-8) stop 1
end program
