! SPDX-License-Identifier: BSD-3-Clause
! Arguments that MPI reads at some ranks only: elsewhere handles may be anything, and a section with strides costs nothing.
program roots
  use mpi_f08
  implicit none
  integer :: rank, ranks, wrong, total
  type(MPI_Datatype) :: nothing

  wrong = 0
  nothing = MPI_Datatype(-12345)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call blocking
  call nonblocking
  if (ranks > 1) call two_groups
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'roots:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1

contains

  include 'check.inc'

  ! The root is the last rank.
  subroutine blocking
    integer :: wide(2, 0:ranks - 1), one, i, root, counts(0:ranks - 1), displs(0:ranks - 1)
    type(MPI_Datatype) :: kind
    root = ranks - 1
    kind = nothing
    if (rank == root) kind = MPI_INTEGER
    counts = 1
    displs = [(i, i = 0, ranks - 1)]
    wide = -1
    call MPI_Gather(rank, 1, MPI_INTEGER, wide(1, :), 1, kind, root, MPI_COMM_WORLD)
    call check(rank /= root .or. all(wide(1, :) == displs), 'gather into a section')
    call check(rank == root .or. all(wide == -1), 'gather: not the root')
    wide(1, :) = -1
    call MPI_Gatherv(rank, 1, MPI_INTEGER, wide(1, :), counts, displs, kind, root, MPI_COMM_WORLD)
    call check(rank /= root .or. all(wide(1, :) == displs), 'gatherv into a section')
    one = -1
    call MPI_Scatter(wide(1, :), 1, kind, one, 1, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check(one == rank, 'scatter from a section')
    one = -1
    call MPI_Scatterv(wide(1, :), counts, displs, kind, one, 1, MPI_INTEGER, root, MPI_COMM_WORLD)
    call check(one == rank, 'scatterv from a section')
    wide = -1
    call MPI_Reduce([rank, 1], wide(1, 0:ranks - 1:2), 1, MPI_INTEGER, MPI_SUM, root, MPI_COMM_WORLD)
    call check(rank /= root .or. wide(1, 0) == ranks * (ranks - 1) / 2, 'reduce into a section')
  end subroutine

  subroutine nonblocking
    integer, asynchronous :: wide(2, 0:ranks - 1), one(1), sums(2)
    integer :: code
    type(MPI_Datatype) :: kind
    type(MPI_Request) :: request
    kind = nothing
    if (rank == 0) kind = MPI_INTEGER
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    wide = -1
    one = rank
    call MPI_Igather(one, 1, MPI_INTEGER, wide(1, :), 1, kind, 0, MPI_COMM_WORLD, request, code)
    call check(code == MPI_SUCCESS, 'igather into a section')
    if (code == MPI_SUCCESS) call MPI_Wait(request, MPI_STATUS_IGNORE)
    sums = 0
    ! A section of a nonblocking reduction is an error where MPI reads it, so only the other ranks pass one.
    if (rank == 0) then
      call MPI_Ireduce(one, sums, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request, code)
    else
      call MPI_Ireduce(one, wide(1, :), 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, request, code)
    end if
    call check(code == MPI_SUCCESS, 'ireduce with a section that is not read')
    if (code == MPI_SUCCESS) call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(rank /= 0 .or. sums(1) == ranks * (ranks - 1) / 2, 'ireduce')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine

  ! Rank 0 alone is one group, the others are the second one.
  subroutine two_groups
    type(MPI_Comm) :: local, inter
    integer :: wide(2, ranks), one, i, values(2, 2)
    call MPI_Comm_split(MPI_COMM_WORLD, min(rank, 1), rank, local)
    call MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, merge(1, 0, rank == 0), 9, inter)
    wide = -1
    one = rank
    ! Rank 0 gathers from the group of the others.
    if (rank == 0) then
      call MPI_Gather(wide(2, :), 1, nothing, wide(1, :), 1, MPI_INTEGER, MPI_ROOT, inter)
      call check(all(wide(1, 1:ranks - 1) == [(i, i = 1, ranks - 1)]), 'gather of an inter-communicator')
    else
      call MPI_Gather(one, 1, MPI_INTEGER, wide(1, :), 1, nothing, 0, inter)
      call check(all(wide == -1), 'gather of an inter-communicator: not the root')
    end if
    ! Rank 1 broadcasts to rank 0; the rest of its group has no part, so that its section may be too short.
    values = rank
    if (rank == 1) values(1, :) = 5
    if (rank == 0) then
      call MPI_Bcast(values(1, :), 2, MPI_INTEGER, 0, inter)
      call check(all(values(1, :) == 5) .and. all(values(2, :) == 0), 'bcast of an inter-communicator')
    else if (rank == 1) then
      call MPI_Bcast(values(1, :), 2, MPI_INTEGER, MPI_ROOT, inter)
    else
      call MPI_Bcast(values(1, :), 3, MPI_INTEGER, MPI_PROC_NULL, inter)
    end if
    call MPI_Comm_free(inter)
    call MPI_Comm_free(local)
  end subroutine
end program
