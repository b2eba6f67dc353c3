! SPDX-License-Identifier: BSD-3-Clause
! `use mpi`: choice buffers of any type and rank, TYPE(C_PTR), MPI_Sizeof, windows, handles shared with C.
program module_mpi
  use, intrinsic :: iso_c_binding
  use mpi
  implicit none
  interface
    integer(c_int) function size_in_c(comm) bind(C)
      import :: c_int
      integer(c_int), value :: comm
    end function
    subroutine status_in_c(f_status, source, tag) bind(C)
      import :: c_int
      integer(c_int) :: f_status(*), source, tag
    end subroutine
    integer(c_int) function self_made_in_c() bind(C)
      import :: c_int
    end function
  end interface
  integer :: ierr, rank, ranks, wrong, total

  wrong = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call buffers
  call memory
  call sizes
  call with_c
  call all_to_all
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'use mpi:', total, ' wrong'
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  subroutine check(ok, text)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: text
    if (ok) return
    wrong = wrong + 1
    print *, 'rank', rank, ': ', text
  end subroutine

  subroutine buffers
    real :: one
    double precision :: grid(3, 2)
    complex :: line(4)
    character(len=5) :: word
    logical :: truth
    one = 1
    grid = rank
    line = (1, 2)
    word = merge('hello', '     ', rank == 0)
    truth = rank == 0
    call MPI_Allreduce(MPI_IN_PLACE, one, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(one == ranks, 'scalar buffer')
    call MPI_Allreduce(MPI_IN_PLACE, grid, 6, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    call check(all(grid == ranks - 1), 'buffer of rank 2')
    call MPI_Allreduce(MPI_IN_PLACE, line, 4, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(all(line == ranks * (1, 2)), 'complex buffer')
    call MPI_Bcast(word, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
    call check(word == 'hello', 'character buffer')
    call MPI_Allreduce(MPI_IN_PLACE, truth, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
    call check(truth, 'logical buffer')
    call PMPI_Barrier(MPI_COMM_WORLD, ierr)
  end subroutine

  subroutine memory
    type(c_ptr) :: base
    integer(MPI_ADDRESS_KIND) :: address, length
    integer, pointer :: cells(:)
    integer :: win
    logical :: flag
    length = 40
    call MPI_Alloc_mem(length, MPI_INFO_NULL, base, ierr)
    call c_f_pointer(base, cells, [10])
    cells = rank
    call MPI_Get_address(cells, address, ierr)
    call check(address == transfer(base, address), 'get_address')
    call check(MPI_Aint_diff(MPI_Aint_add(address, 8_MPI_ADDRESS_KIND), address) == 8, 'aint_add and aint_diff')
    call MPI_Free_mem(cells, ierr)
    call MPI_Alloc_mem(length, MPI_INFO_NULL, address, ierr)
    call check(address /= 0, 'alloc_mem of an integer')
    base = transfer(address, base)
    call c_f_pointer(base, cells, [10])
    call MPI_Free_mem(cells, ierr)
    call MPI_Win_allocate(length, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierr)
    call c_f_pointer(base, cells, [10])
    cells = -1
    call MPI_Win_fence(0, win, ierr)
    call MPI_Put(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), 3_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call check(cells(4) == mod(rank + ranks - 1, ranks), 'put')
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, length, flag, ierr)
    call check(flag .and. length == 40, 'win_size')
    call MPI_Win_get_attr(win, MPI_WIN_BASE, address, flag, ierr)
    call check(flag .and. address == transfer(base, address), 'win_base')
    call MPI_Win_free(win, ierr)
    call check(win == MPI_WIN_NULL, 'win_free')
  end subroutine

  subroutine sizes
    integer :: n
    double precision :: one
    complex(8) :: many(3, 4)
    call MPI_Sizeof(one, n, ierr)
    call check(n == 8, 'sizeof a scalar')
    call MPI_Sizeof(many, n, ierr)
    call check(n == 16, 'sizeof an array')
  end subroutine

  subroutine with_c
    integer :: comm, status(MPI_STATUS_SIZE), source, tag, n
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call check(size_in_c(comm) == ranks, 'a communicator of Fortran in C')
    call MPI_Comm_free(comm, ierr)
    comm = self_made_in_c()
    call MPI_Comm_size(comm, n, ierr)
    call check(n == 1, 'a communicator of C in Fortran')
    call MPI_Comm_free(comm, ierr)
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, rank, 9, n, 1, MPI_INTEGER, rank, 9, MPI_COMM_WORLD, status, ierr)
    call status_in_c(status, source, tag)
    call check(source == rank .and. tag == 9, 'a status of Fortran in C')
  end subroutine

  subroutine all_to_all
    integer :: counts(ranks), places(ranks), kinds(ranks), mine(ranks), theirs(ranks), i, request, round, type
    call MPI_Type_contiguous(1, MPI_INTEGER, type, ierr)
    call MPI_Type_commit(type, ierr)
    counts = 1
    places = [(4 * (i - 1), i = 1, ranks)]
    kinds = type
    mine = [(100 * rank + i, i = 1, ranks)]
    do round = 1, 3
      theirs = 0
      call MPI_Ialltoallw(mine, counts, places, kinds, theirs, counts, places, kinds, MPI_COMM_WORLD, request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      call check(all(theirs == [(100 * (i - 1) + rank + 1, i = 1, ranks)]), 'ialltoallw')
    end do
    call MPI_Alltoallw(MPI_IN_PLACE, counts, places, kinds, theirs, counts, places, kinds, MPI_COMM_WORLD, ierr)
    call check(all(theirs == mine), 'alltoallw in place')
    call MPI_Type_free(type, ierr)
  end subroutine
end program
