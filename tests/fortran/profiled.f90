! SPDX-License-Identifier: BSD-3-Clause
! A program that runs with profiler.f90: each binding passes by the procedure of its own name, once. So it does by the C
! function that counted.c replaces, unless the name begins with P.
subroutine send_by_old_module
  use mpi
  implicit none
  integer :: ierr
  call MPI_Send(1, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call PMPI_Barrier(MPI_COMM_WORLD, ierr)
end subroutine

program profiler
  use, intrinsic :: iso_c_binding
  use counters
  use mpi_f08
  implicit none
  interface
    integer(c_int) function barriers_in_c() bind(C)
      import :: c_int
    end function
  end interface
  integer :: rank, line(4), wrong, total
  line = 7
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Send(line(1:4:2), 2, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  call MPI_Send(line, 4_MPI_COUNT_KIND, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  call send_by_old_module
  call MPI_Barrier(MPI_COMM_WORLD)
  call PMPI_Barrier(MPI_COMM_WORLD)
  wrong = count([plain, typed, large, ranked] /= 1) + merge(0, 1, barriers_in_c() == 2)
  if (wrong > 0) print *, 'mpi_send', plain, 'f08ts', typed, 'c_f08ts', large, 'comm_rank_f08', ranked, 'C', barriers_in_c()
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'profiler:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1
end program
