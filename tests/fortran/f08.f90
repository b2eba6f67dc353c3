! SPDX-License-Identifier: BSD-3-Clause
! `use mpi_f08`: typed handles, optional ierror, array sections without a copy, large counts, callbacks.
module callbacks
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  integer :: seen = 0
contains
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    if (datatype == MPI_INTEGER) b = a + b
  end subroutine
  subroutine on_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm /= MPI_COMM_NULL) seen = code
  end subroutine
end module

program f08
  use, intrinsic :: iso_c_binding
  use mpi_f08
  use callbacks
  implicit none
  integer :: rank, ranks, wrong, total

  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call messages
  call sections
  call collectives
  call section_collectives
  call section_errors
  call large_counts
  call own_procedures
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'use mpi_f08:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1

contains

  include 'check.inc'

  subroutine messages
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, statuses(2)
    integer :: got, count, left, array(MPI_STATUS_SIZE)
    character(len=MPI_MAX_PROCESSOR_NAME) :: name
    integer(MPI_COUNT_KIND) :: one = 1
    left = mod(rank + ranks - 1, ranks)
    call MPI_Irecv(got, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, requests(1))
    call MPI_Isend(rank, one, MPI_INTEGER, mod(rank + 1, ranks), 5, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, statuses)
    call check(got == left .and. statuses(1)%MPI_SOURCE == left .and. statuses(1)%MPI_TAG == 5, 'isend, large count')
    call check(all(requests == MPI_REQUEST_NULL), 'requests are null')
    call MPI_Sendrecv(rank, 1, MPI_INTEGER, rank, 1, got, 1, MPI_INTEGER, rank, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    call check(count == 1, 'get_count')
    call MPI_Status_f082f(status, array)
    call check(array(MPI_SOURCE) == rank .and. array(MPI_TAG) == 1, 'status_f082f')
    call MPI_Get_processor_name(name, count)
    call check(count > 0 .and. len_trim(name) == count, 'get_processor_name')
  end subroutine

  subroutine sections
    integer :: grid(6, 5), copy(6, 5), i, left, line(10)
    type(MPI_Request) :: request
    left = mod(rank + ranks - 1, ranks)
    grid = reshape([(i + 100 * rank, i = 1, 30)], [6, 5])
    copy = 0
    ! Every second row and column: 3 by 3 elements from the second row on.
    call MPI_Irecv(copy(1:6:2, 1:5:2), 9, MPI_INTEGER, left, 6, MPI_COMM_WORLD, request)
    call MPI_Send(grid(2:6:2, 1:5:2), 9, MPI_INTEGER, mod(rank + 1, ranks), 6, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(copy(1:6:2, 1:5:2) == grid(2:6:2, 1:5:2) - 100 * rank + 100 * left), 'section: data')
    call check(sum(copy) == sum(copy(1:6:2, 1:5:2)), 'section: gaps are not written')
    ! Part of a section: one column and two elements of the next; backwards.
    line = 0
    call MPI_Sendrecv(grid(6:2:-2, 1:5:2), 5, MPI_INTEGER, rank, 7, line(10:1:-2), 5, MPI_INTEGER, rank, 7, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(line(10:1:-2) == [6, 4, 2, 18, 16] + 100 * rank), 'section: a part, backwards')
    line(1:5) = rank + 1
    call MPI_Allreduce(MPI_IN_PLACE, line(1:5:2), 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call check(all(line(1:5:2) == ranks * (ranks + 1) / 2) .and. line(2) == rank + 1, 'section of a reduction')
  end subroutine

  ! Sections of collectives: one message, a block per rank, a copy where no datatype describes the buffer.
  subroutine section_collectives
    integer :: wide(2, 0:3, 0:ranks - 1), flat(4, 0:ranks - 1), i, counts(0:ranks - 1), displs(0:ranks - 1)
    integer :: cube(2, 3, 4 + ranks), mine(4)
    type(MPI_Request) :: request
    type(MPI_Datatype) :: pair
    wide = -1
    flat = 0
    mine = [(10 * rank + i, i = 1, 4)]
    call MPI_Iallgather(mine, 4, MPI_INTEGER, wide(1, :, :), 4, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(all(wide(2, :, :) == -1), 'iallgather: gaps are not written')
    do i = 0, ranks - 1
      call check(all(wide(1, :, i) == 10 * i + [1, 2, 3, 4]), 'iallgather: a block with strides per rank')
    end do
    ! The same by a datatype of two elements, and from a section.
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Ialltoall(wide(1, :, :), 2, pair, flat, 4, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Type_free(pair)
    call check(all(flat == spread(10 * rank + [1, 2, 3, 4], 2, ranks)), 'ialltoall from a section')
    counts = 2
    displs = [(4 * i + 1, i = 0, ranks - 1)]
    wide = -1
    call MPI_Allgatherv(flat(4:1:-2, 0), 2, MPI_INTEGER, wide(1, :, :), counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    do i = 0, ranks - 1
      call check(all(wide(1, :, i) == [-1, 10 * i + 4, 10 * i + 2, -1]), 'allgatherv with displacements')
    end do
    ! The distances between elements differ: a blocking call copies.
    cube = -1
    call MPI_Allgather(rank, 1, MPI_INTEGER, cube(2, 3, 1:ranks), 1, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(cube(2, 3, 1:ranks) == [(i, i = 0, ranks - 1)]) .and. sum(cube) == ranks * (ranks - 1) / 2 - &
               size(cube) + ranks, 'allgather into a section of three dimensions')
    cube = -1
    call MPI_Allgather([rank, rank], 2, MPI_INTEGER, cube(2, 1:3:2, 1:ranks), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(cube(2, 1:3:2, 1:ranks) == spread([(i, i = 0, ranks - 1)], 1, 2)) .and. all(cube(1, :, :) == -1), &
               'allgather into a section with two strides')
    if (rank == 0) wide(1, :, :) = reshape([(i, i = 1, 4 * ranks)], [4, ranks])
    call MPI_Scatter(wide(1, :, :), 4, MPI_INTEGER, cube(1, 2, 1:4), 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(all(cube(1, 2, 1:4) == 4 * rank + [1, 2, 3, 4]), 'scatter')
  end subroutine

  subroutine section_errors
    integer :: line(8), sums(4), code, class, length
    type(MPI_Comm) :: comm
    type(MPI_Request) :: request
    character(len=MPI_MAX_ERROR_STRING) :: text
    line = 1
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
    call MPI_Iallreduce(line(1:8:2), sums, 4, MPI_INTEGER, MPI_SUM, comm, request, code)
    call MPI_Error_class(code, class)
    call MPI_Error_string(code, text, length)
    call check(class == MPI_ERR_BUFFER .and. index(text, 'MPI_Iallreduce') > 0, 'nonblocking reduction of a section')
    call MPI_Send(line(1:8:2), 5, MPI_INTEGER, 0, 0, comm, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_BUFFER, 'more elements than the section has')
    call MPI_Send(line(1:8:2), -1, MPI_INTEGER, 0, 0, comm, code)
    call MPI_Error_class(code, class)
    call check(class == MPI_ERR_COUNT, 'negative count')
    call MPI_Comm_free(comm)
  end subroutine

  subroutine large_counts
    integer(MPI_COUNT_KIND) :: n = 3, counts(0:ranks - 1), displs(0:ranks - 1), got = 0
    integer :: all_of(3 * ranks), other(3), i
    type(MPI_Status) :: status
    counts = 3
    displs = [(3 * i, i = 0, ranks - 1)]
    call MPI_Allgatherv([rank, rank, rank], n, MPI_INTEGER, all_of, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    call check(all(all_of == [(i / 3, i = 0, 3 * ranks - 1)]), 'allgatherv, large counts')
    call PMPI_Sendrecv(all_of, n, MPI_INTEGER, 0, 2, other, n, MPI_INTEGER, 0, 2, MPI_COMM_SELF, status)
    call MPI_Get_count(status, MPI_INTEGER, got)
    call check(got == 3 .and. all(other == 0), 'pmpi_sendrecv and get_count, large')
  end subroutine

  subroutine collectives
    real :: values(4)
    integer(MPI_COUNT_KIND) :: lb, extent
    type(MPI_Comm) :: comm
    type(MPI_Datatype) :: type
    values = rank
    call MPI_Allreduce(MPI_IN_PLACE, values, 4, MPI_REAL, MPI_MAX, MPI_COMM_WORLD)
    call check(all(values == ranks - 1), 'allreduce in place')
    call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, comm)
    call check(comm /= MPI_COMM_NULL .and. .not. comm == MPI_COMM_WORLD, 'comparison')
    call MPI_Comm_free(comm)
    call check(comm == MPI_COMM_NULL, 'comm_free')
    call MPI_Type_contiguous(3_MPI_COUNT_KIND, MPI_REAL, type)
    call MPI_Type_get_extent_c(type, lb, extent)
    call check(lb == 0 .and. extent == 12, 'type_get_extent_c')
    call MPI_Type_free(type)
  end subroutine

  subroutine own_procedures
    type(MPI_Op) :: op
    type(MPI_Comm) :: comm
    type(MPI_Errhandler) :: handler
    integer :: total_rank, code, keyval
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Op_create(add, .true., op)
    call MPI_Allreduce(rank, total_rank, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(total_rank == ranks * (ranks - 1) / 2, 'own operation')
    call MPI_Op_free(op)
    call MPI_Comm_dup(MPI_COMM_SELF, comm)
    call MPI_Comm_create_errhandler(on_error, handler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Send(rank, 1, MPI_INTEGER, 99, 0, comm, code)
    call check(code /= MPI_SUCCESS .and. seen == code, 'error handler')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(comm, keyval, 42_MPI_ADDRESS_KIND)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call check(flag .and. value == 42, 'attribute')
    call MPI_Comm_free_keyval(keyval)
    call MPI_Errhandler_free(handler)
    call MPI_Comm_free(comm)
  end subroutine
end program
