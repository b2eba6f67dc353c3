! SPDX-License-Identifier: BSD-3-Clause
! Heat in a plate, divided by rows, so that the halo of a rank is a row: an array section with a stride, which
! `use mpi_f08` sends and receives in place.
program heat
  use mpi_f08
  implicit none
  integer, parameter :: columns = 64, steps = 200, rows = 8
  real(8) :: plate(0:rows + 1, columns), next(rows, 2:columns - 1), part, total
  type(MPI_Request) :: requests(4)
  integer :: rank, ranks, above, below, step

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  above = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  below = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  plate = 0
  if (rank == 0) plate(0, :) = 100
  do step = 1, steps
    call MPI_Irecv(plate(0, :), columns, MPI_REAL8, above, 0, MPI_COMM_WORLD, requests(1))
    call MPI_Irecv(plate(rows + 1, :), columns, MPI_REAL8, below, 1, MPI_COMM_WORLD, requests(2))
    call MPI_Isend(plate(1, :), columns, MPI_REAL8, above, 1, MPI_COMM_WORLD, requests(3))
    call MPI_Isend(plate(rows, :), columns, MPI_REAL8, below, 0, MPI_COMM_WORLD, requests(4))
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
    next = (plate(0:rows - 1, 2:columns - 1) + plate(2:rows + 1, 2:columns - 1) + &
            plate(1:rows, 1:columns - 2) + plate(1:rows, 3:columns)) / 4
    plate(1:rows, 2:columns - 1) = next
  end do
  part = sum(plate(1:rows, :))
  call MPI_Allreduce(part, total, 1, MPI_REAL8, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(a, f10.4)', 'mean temperature ', total / (rows * ranks * columns)
  call MPI_Finalize()
  if (.not. (total > 0 .and. total < 100d0 * rows * ranks * columns)) stop 1
end program
