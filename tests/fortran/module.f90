! SPDX-License-Identifier: BSD-3-Clause
! `use mpi`: choice buffers of any type and rank, TYPE(C_PTR), MPI_Sizeof, windows, handles shared with C.
module attribute_callbacks
  use mpi
  implicit none
  integer :: deleted = 0
contains
  subroutine add_one(comm, keyval, extra_state, attribute_in, attribute_out, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, attribute_in, attribute_out
    logical :: flag
    attribute_out = attribute_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine count_deleted(comm, keyval, attribute, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, extra_state
    deleted = deleted + int(attribute)
    ierror = MPI_SUCCESS
  end subroutine
end module

program module_mpi
  use, intrinsic :: iso_c_binding
  use mpi
  use attribute_callbacks
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
    integer(c_intptr_t) function attribute_in_c(comm, keyval) bind(C)
      import :: c_int, c_intptr_t
      integer(c_int), value :: comm, keyval
    end function
    subroutine set_attribute_in_c(comm, keyval, attribute) bind(C)
      import :: c_int, c_ptr
      integer(c_int), value :: comm, keyval
      type(c_ptr), value :: attribute
    end subroutine
    integer(c_size_t) function heap_bytes() bind(C)
      import :: c_size_t
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
  call attributes
  call all_to_all
  call all_to_all_memory
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'use mpi:', total, ' wrong'
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  include 'check.inc'

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

  ! C sees the address of an attribute that Fortran has set; Fortran sees the address that C has set.
  subroutine attributes
    integer :: comm, copy, keyval, old
    integer(MPI_ADDRESS_KIND) :: got, large = 2_MPI_ADDRESS_KIND ** 40
    integer, target :: cell
    logical :: flag
    call MPI_Comm_create_keyval(add_one, count_deleted, keyval, 1_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Comm_set_attr(comm, keyval, 10_MPI_ADDRESS_KIND, ierr)
    call check(attribute_in_c(comm, keyval) == 10, 'an attribute of Fortran in C')
    call MPI_Comm_dup(comm, copy, ierr)
    call MPI_Comm_get_attr(copy, keyval, got, flag, ierr)
    call check(flag .and. got == 11 .and. attribute_in_c(copy, keyval) == 11, 'a copy of an attribute')
    call MPI_Comm_free(copy, ierr)
    call check(deleted == 11, 'the copy is deleted')
    call MPI_Comm_set_attr(comm, keyval, large, ierr)
    call check(deleted == 21 .and. attribute_in_c(comm, keyval) == large, 'an attribute with the size of an address')
    call MPI_Attr_put(comm, keyval, -5, ierr)
    call MPI_Attr_get(comm, keyval, old, flag, ierr)
    call check(flag .and. old == -5 .and. attribute_in_c(comm, keyval) == -5, 'attr_put')
    call set_attribute_in_c(comm, keyval, c_loc(cell))
    call MPI_Comm_get_attr(comm, keyval, got, flag, ierr)
    call check(flag .and. got == transfer(c_loc(cell), got), 'an attribute of C in Fortran')
    call MPI_Comm_delete_attr(comm, keyval, ierr)
    call MPI_Comm_get_attr(comm, keyval, got, flag, ierr)
    call check(.not. flag, 'delete_attr')
    call MPI_Comm_free_keyval(keyval, ierr)
    call MPI_Comm_free(comm, ierr)
  end subroutine

  ! Each call has datatypes of its own: the copy of their handles is freed when the request ends.
  subroutine all_to_all_memory
    integer :: counts(ranks), places(ranks), kinds(ranks), request, round, type
    integer(c_size_t) :: before
    counts = 0
    places = 0
    before = 0
    do round = 1, 2000
      call MPI_Type_contiguous(round, MPI_INTEGER, type, ierr)
      call MPI_Type_commit(type, ierr)
      kinds = type
      call MPI_Ialltoallw(kinds, counts, places, kinds, kinds, counts, places, kinds, MPI_COMM_WORLD, request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      call MPI_Type_free(type, ierr)
      if (round == 1000) before = heap_bytes()
    end do
    call check(heap_bytes() < before + 20000, 'ialltoallw keeps memory')
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
