! SPDX-License-Identifier: BSD-3-Clause
! Every sentinel in every binding, arrays of zero length, and LOGICALs of other kinds and values. Built with mpif.h
! (MPIF), `use mpi`, and `use mpi_f08` (F08).
#if defined(F08)
#define USE_MPI use mpi_f08
#define HEADER
#define HANDLE(name) type(name)
#define LASTING , asynchronous
#elif defined(MPIF)
#define USE_MPI
#define HEADER include 'mpif.h'
#define HANDLE(name) integer
#define LASTING
#else
#define USE_MPI use mpi
#define HEADER
#define HANDLE(name) integer
#define LASTING , asynchronous
#endif
program sentinels
  use, intrinsic :: iso_c_binding
  USE_MPI
  implicit none
  HEADER
  integer, parameter :: most = 16
  integer :: ierr, rank, ranks, left, right, wrong, total, i, gauss
  integer :: none(1:0), places(most), counts(most)
  HANDLE(MPI_Request) :: no_requests(1:0)
#if defined(F08)
  type(MPI_Status) :: no_statuses(1:0)
#else
  integer :: no_statuses(MPI_STATUS_SIZE, 1:0)
#endif

  wrong = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  gauss = ranks * (ranks - 1) / 2
  counts = 1
  places = [(i, i = 0, most - 1)]
  call bottom
  call bottom_of_collectives
  call in_place
  call in_place_by_vectors
  call no_status
  call weights
  call automatic_buffer
  call zero_length
  call zero_length_messages
  call logical_kinds
  call logical_values
  call unchanged
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'sentinels:', total, ' wrong'
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  include 'check.inc'

  ! A datatype of four integers at their address.
  subroutine make_absolute(cells, type)
    integer LASTING :: cells(4)
    HANDLE(MPI_Datatype) :: type
    integer(MPI_ADDRESS_KIND) :: address(1)
    call MPI_Get_address(cells, address(1), ierr)
    call MPI_Type_create_hindexed(1, [4], address, MPI_INTEGER, type, ierr)
    call MPI_Type_commit(type, ierr)
  end subroutine

  subroutine bottom
    integer LASTING :: mine(4), theirs(4), packed(4), window(4)
    integer :: position
    integer(MPI_ADDRESS_KIND) :: nowhere
    HANDLE(MPI_Datatype) :: from, to
    HANDLE(MPI_Request) :: requests(2)
    HANDLE(MPI_Win) :: win
    nowhere = 1
    call MPI_Get_address(MPI_BOTTOM, nowhere, ierr)
    call check(nowhere == 0, 'address of MPI_BOTTOM')
    call make_absolute(mine, from)
    call make_absolute(theirs, to)
    mine = 10 * rank + [1, 2, 3, 4]
    theirs = 0
    call MPI_F_sync_reg(mine)
    call MPI_Sendrecv(MPI_BOTTOM, 1, from, right, 1, MPI_BOTTOM, 1, to, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    call MPI_F_sync_reg(theirs)
    call check(all(theirs == 10 * left + [1, 2, 3, 4]), 'sendrecv with MPI_BOTTOM')
    theirs = 0
    call MPI_Irecv(MPI_BOTTOM, 1, to, left, 2, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(MPI_BOTTOM, 1, from, right, 2, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call MPI_F_sync_reg(theirs)
    call check(all(theirs == 10 * left + [1, 2, 3, 4]), 'isend and irecv with MPI_BOTTOM')
    position = 0
    call MPI_Pack(MPI_BOTTOM, 1, from, packed, 16, position, MPI_COMM_WORLD, ierr)
    call check(position == 16 .and. all(packed == mine), 'pack from MPI_BOTTOM')
    position = 0
    theirs = 0
    call MPI_Unpack(packed, 16, position, MPI_BOTTOM, 1, to, MPI_COMM_WORLD, ierr)
    call MPI_F_sync_reg(theirs)
    call check(all(theirs == mine), 'unpack to MPI_BOTTOM')
    window = 0
    call MPI_Win_create(window, 16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call MPI_Put(MPI_BOTTOM, 1, from, right, 0_MPI_ADDRESS_KIND, 4, MPI_INTEGER, win, ierr)
    call MPI_Win_fence(0, win, ierr)
    call check(all(window == 10 * left + [1, 2, 3, 4]), 'put from MPI_BOTTOM')
    call MPI_Win_free(win, ierr)
    call MPI_Type_free(from, ierr)
    call MPI_Type_free(to, ierr)
  end subroutine

  subroutine bottom_of_collectives
    integer LASTING :: mine(4), all_of(4, most)
    HANDLE(MPI_Datatype) :: from, rows(most), senders(most)
    integer :: zeros(most)
    zeros = 0
    mine = 10 * rank + [1, 2, 3, 4]
    call make_absolute(mine, from)
    call MPI_F_sync_reg(mine)
    all_of = 0
    call MPI_Allgather(MPI_BOTTOM, 1, from, all_of, 4, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      call check(all(all_of(:, i) == 10 * (i - 1) + [1, 2, 3, 4]), 'allgather from MPI_BOTTOM')
      call make_absolute(all_of(:, i), rows(i))
      senders(i) = from
    end do
    all_of = 0
    call MPI_F_sync_reg(all_of)
    call MPI_Alltoallw(MPI_BOTTOM, counts, zeros, senders, MPI_BOTTOM, counts, zeros, rows, MPI_COMM_WORLD, ierr)
    call MPI_F_sync_reg(all_of)
    do i = 1, ranks
      call check(all(all_of(:, i) == 10 * (i - 1) + [1, 2, 3, 4]), 'alltoallw with MPI_BOTTOM')
      call MPI_Type_free(rows(i), ierr)
    end do
    call MPI_Bcast(MPI_BOTTOM, 1, from, 0, MPI_COMM_WORLD, ierr)
    call MPI_F_sync_reg(mine)
    call check(all(mine == [1, 2, 3, 4]), 'bcast of MPI_BOTTOM')
    call MPI_Type_free(from, ierr)
  end subroutine

  subroutine in_place
    integer LASTING :: cells(most), one(1)
    HANDLE(MPI_Request) :: request
    one = rank
    call MPI_Allreduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(one(1) == gauss, 'allreduce in place')
    one = rank
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
      call check(one(1) == gauss, 'reduce in place')
    else
      call MPI_Reduce(one, cells, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    end if
    one = rank
    call MPI_Scan(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(one(1) == rank * (rank + 1) / 2, 'scan in place')
    one = rank
    call MPI_Exscan(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(rank == 0 .or. one(1) == rank * (rank - 1) / 2, 'exscan in place')
    cells = rank
    call MPI_Reduce_scatter_block(MPI_IN_PLACE, cells, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(cells(1) == gauss, 'reduce_scatter_block in place')
    cells = rank
    call MPI_Reduce_scatter(MPI_IN_PLACE, cells, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(cells(1) == gauss, 'reduce_scatter in place')
    one = rank
    call MPI_Iallreduce(MPI_IN_PLACE, one, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(one(1) == gauss, 'iallreduce in place')
    cells = -1
    cells(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, cells, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(all(cells(1:ranks) == [(i, i = 0, ranks - 1)]), 'allgather in place')
    cells = [(most * rank + i, i = 0, most - 1)]
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, cells, 1, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(all(cells(1:ranks) == [(most * i + rank, i = 0, ranks - 1)]), 'alltoall in place')
  end subroutine

  subroutine in_place_by_vectors
    integer LASTING :: cells(most)
    HANDLE(MPI_Datatype) :: kinds(most)
    HANDLE(MPI_Request) :: request
    kinds = MPI_INTEGER
    cells = [(most * rank + i, i = 0, most - 1)]
    call MPI_Alltoallv(MPI_IN_PLACE, none, none, MPI_DATATYPE_NULL, cells, counts, places, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    call check(all(cells(1:ranks) == [(most * i + rank, i = 0, ranks - 1)]), 'alltoallv in place')
    cells = [(most * rank + i, i = 0, most - 1)]
    ! The datatypes of what is sent are not read.
    call MPI_Ialltoallw(MPI_IN_PLACE, none, none, kinds(1:0), cells, counts, 4 * places, kinds, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(all(cells(1:ranks) == [(most * i + rank, i = 0, ranks - 1)]), 'ialltoallw in place')
    cells = -1
    cells(rank + 1) = rank
    if (rank == 0) then
      call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, cells, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call check(all(cells(1:ranks) == [(i, i = 0, ranks - 1)]), 'gatherv in place')
      cells = [(7 * i, i = 1, most)]
      call MPI_Scatter(cells, 1, MPI_INTEGER, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
    else
      call MPI_Gatherv(cells(rank + 1), 1, MPI_INTEGER, none, none, none, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, ierr)
      call MPI_Scatter(none, 0, MPI_DATATYPE_NULL, cells, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
      call check(cells(1) == 7 * (rank + 1), 'scatter in place at the root')
    end if
  end subroutine

  subroutine no_status
    integer LASTING :: got(4)
    integer :: index, done, indices(4)
    logical :: flag
    HANDLE(MPI_Request) :: requests(4)
    HANDLE(MPI_Message) :: message
    call start(requests, got)
    call MPI_Probe(left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
    flag = .false.
    call MPI_Iprobe(left, 1, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierr)
    call check(flag, 'iprobe')
    call MPI_Mprobe(left, 1, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, ierr)
    call MPI_Mrecv(got(1), 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierr)
    call check(got(1) == left, 'mrecv')
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(requests(2), flag, MPI_STATUS_IGNORE, ierr)
    end do
    flag = .false.
    call MPI_Test(requests(2), flag, MPI_STATUS_IGNORE, ierr)
    call check(flag .and. requests(2) == MPI_REQUEST_NULL, 'test')
    call MPI_Waitany(4, requests, index, MPI_STATUS_IGNORE, ierr)
    call check(index == 1 .or. index == 3 .or. index == 4, 'waitany')
    call MPI_Waitsome(4, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
    call check(done >= 1, 'waitsome')
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierr)
    call check(all(got == left), 'waitall')
    call MPI_Testany(4, requests, index, flag, MPI_STATUS_IGNORE, ierr)
    call check(flag .and. index == MPI_UNDEFINED, 'testany')
    call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, ierr)
    call check(flag, 'testall')
    call MPI_Testsome(4, requests, done, indices, MPI_STATUSES_IGNORE, ierr)
    call check(done == MPI_UNDEFINED, 'testsome')
  end subroutine

  ! One message for a probe, then three receives with their sends; the requests of the receives and of the first send.
  subroutine start(requests, got)
    HANDLE(MPI_Request) :: requests(4)
    integer LASTING :: got(4)
    HANDLE(MPI_Request) :: request
    integer :: n
    call MPI_Isend(rank, 1, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(1), ierr)
    do n = 2, 4
      call MPI_Irecv(got(n), 1, MPI_INTEGER, left, n, MPI_COMM_WORLD, requests(n), ierr)
    end do
    do n = 2, 4
      call MPI_Isend(rank, 1, MPI_INTEGER, right, n, MPI_COMM_WORLD, request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    end do
  end subroutine

  subroutine weights
    HANDLE(MPI_Comm) :: graph
    integer :: in, out, from(1), to(1), weight(1), degrees(1)
    logical :: weighted
    degrees = 1
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., graph, ierr)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, ierr)
    call check(in == 1 .and. out == 1 .and. .not. weighted, 'MPI_UNWEIGHTED')
    call MPI_Dist_graph_neighbors(graph, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, ierr)
    call check(from(1) == left .and. to(1) == right, 'neighbors without weights')
    call MPI_Comm_free(graph, ierr)
    ! Rank 0 names the edge of each rank; the others have none, so that their arrays of weights are empty.
    if (rank == 0) then
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [0], degrees, [ranks - 1], [5], MPI_INFO_NULL, .false., graph, ierr)
    else
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 0, none, none, none, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, ierr)
    end if
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, ierr)
    call check(weighted .and. in == merge(1, 0, rank == ranks - 1) .and. out == merge(1, 0, rank == 0), 'MPI_WEIGHTS_EMPTY')
    weight = 0
    call MPI_Dist_graph_neighbors(graph, in, from, weight, out, to, MPI_UNWEIGHTED, ierr)
    call check(in == 0 .or. weight(1) == 5, 'weight of an edge')
    call MPI_Comm_free(graph, ierr)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, none, MPI_WEIGHTS_EMPTY, 0, none, MPI_WEIGHTS_EMPTY, &
                                        MPI_INFO_NULL, .false., graph, ierr)
    call MPI_Dist_graph_neighbors_count(graph, in, out, weighted, ierr)
    call check(in == 0 .and. out == 0 .and. weighted, 'no edges with weights')
    call MPI_Comm_free(graph, ierr)
  end subroutine

  subroutine automatic_buffer
    HANDLE(MPI_Comm) :: comm
    integer :: got, size
#if defined(F08)
    type(c_ptr) :: buffer
#else
    integer(MPI_ADDRESS_KIND) :: buffer
#endif
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0, ierr)
    call check(ierr == MPI_SUCCESS, 'attach MPI_BUFFER_AUTOMATIC')
    call MPI_Bsend(rank, 1, MPI_INTEGER, right, 3, comm, ierr)
    call MPI_Recv(got, 1, MPI_INTEGER, left, 3, comm, MPI_STATUS_IGNORE, ierr)
    call check(got == left, 'bsend from an automatic buffer')
    call MPI_Comm_detach_buffer(comm, buffer, size, ierr)
    call check(ierr == MPI_SUCCESS, 'detach MPI_BUFFER_AUTOMATIC')
#if defined(F08)
    call check(c_associated(buffer, c_loc(MPI_BUFFER_AUTOMATIC)), 'the address of MPI_BUFFER_AUTOMATIC comes back')
#endif
    call MPI_Comm_free(comm, ierr)
  end subroutine

  subroutine zero_length
    HANDLE(MPI_Group) :: group, empty
    HANDLE(MPI_Datatype) :: type, no_types(1:0)
    integer(MPI_ADDRESS_KIND) :: no_places(1:0)
    integer :: n, indices(1)
    logical :: flag
    call MPI_Waitall(0, no_requests, no_statuses, ierr)
    call check(ierr == MPI_SUCCESS, 'waitall of none')
    call MPI_Waitany(0, no_requests, n, MPI_STATUS_IGNORE, ierr)
    call check(n == MPI_UNDEFINED, 'waitany of none')
    call MPI_Waitsome(0, no_requests, n, indices, no_statuses, ierr)
    call check(n == MPI_UNDEFINED, 'waitsome of none')
    call MPI_Testall(0, no_requests, flag, no_statuses, ierr)
    call check(flag, 'testall of none')
    call MPI_Startall(0, no_requests, ierr)
    call check(ierr == MPI_SUCCESS, 'startall of none')
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierr)
    call MPI_Group_incl(group, 0, none, empty, ierr)
    call check(empty == MPI_GROUP_EMPTY, 'group of none')
    call MPI_Group_translate_ranks(group, 0, none, group, none, ierr)
    call check(ierr == MPI_SUCCESS, 'no ranks to translate')
    call MPI_Group_free(group, ierr)
    call MPI_Type_create_struct(0, none, no_places, no_types, type, ierr)
    call MPI_Type_commit(type, ierr)
    n = -1
    call MPI_Type_size(type, n, ierr)
    call check(n == 0, 'struct of nothing')
    call MPI_Send(none, 1, type, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
    call check(ierr == MPI_SUCCESS, 'an empty datatype')
    call MPI_Type_free(type, ierr)
    call MPI_Type_indexed(0, none, none, MPI_INTEGER, type, ierr)
    call check(ierr == MPI_SUCCESS, 'indexed of nothing')
    call MPI_Type_free(type, ierr)
  end subroutine

  subroutine zero_length_messages
    integer LASTING :: got(1), nothing(0)
    integer :: lengths(most), starts(most)
    HANDLE(MPI_Request) :: request
    integer, allocatable :: heap(:)
    character(len=0) :: word
    allocate (heap(0))
    call MPI_Irecv(nothing, 0, MPI_INTEGER, left, 4, MPI_COMM_WORLD, request, ierr)
    call MPI_Send(heap, 0, MPI_INTEGER, right, 4, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(ierr == MPI_SUCCESS, 'a message of no elements')
    call MPI_Sendrecv(word, 0, MPI_CHARACTER, right, 5, word, 0, MPI_CHARACTER, left, 5, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
    call check(ierr == MPI_SUCCESS, 'a string of no characters')
    lengths = 0
    lengths(1) = 1
    starts = 0
    got = 0
    ! Only rank 0 has something to send.
    if (rank == 0) then
      call MPI_Allgatherv([42], 1, MPI_INTEGER, got, lengths, starts, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    else
      call MPI_Allgatherv(none, 0, MPI_INTEGER, got, lengths, starts, MPI_INTEGER, MPI_COMM_WORLD, ierr)
    end if
    call check(got(1) == 42, 'allgatherv from one')
    call MPI_Allreduce(heap, nothing, 0, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    call check(ierr == MPI_SUCCESS, 'allreduce of nothing')
    call MPI_Bcast(nothing, 0, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
    call check(ierr == MPI_SUCCESS, 'bcast of nothing')
  end subroutine

  ! .TRUE. and .FALSE. of each kind, combined by MPI.
  subroutine logical_kinds
    logical(1) :: one(2)
    logical(2) :: two(2)
    logical(4) :: four(2)
    logical(8) :: eight(2)
    logical :: mine(2), both(2)
    mine = [.true., rank == 0]
    one = mine
    two = mine
    four = mine
    eight = mine
    call MPI_Allreduce(MPI_IN_PLACE, one, 2, MPI_LOGICAL1, MPI_LAND, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, two, 2, MPI_LOGICAL2, MPI_LAND, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, four, 2, MPI_LOGICAL4, MPI_LAND, MPI_COMM_WORLD, ierr)
    call MPI_Allreduce(MPI_IN_PLACE, eight, 2, MPI_LOGICAL8, MPI_LAND, MPI_COMM_WORLD, ierr)
    call check(all(logical(one) .eqv. [.true., ranks == 1]), 'LOGICAL(1)')
    call check(all(logical(two) .eqv. [.true., ranks == 1]), 'LOGICAL(2)')
    call check(all(logical(four) .eqv. [.true., ranks == 1]), 'LOGICAL(4)')
    call check(all(logical(eight) .eqv. [.true., ranks == 1]), 'LOGICAL(8)')
    call MPI_Allreduce(mine, both, 2, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierr)
    call check(both(1) .eqv. mod(ranks, 2) == 1, 'exclusive or of LOGICALs')
    call check(transfer(both(2), 1) == transfer(.true., 1), 'the result has the bits of .TRUE.')
    call MPI_Allreduce(.not. mine, both, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
    call check(all(both .eqv. [.false., ranks > 1]), 'or of LOGICALs')
  end subroutine

  ! What is not .FALSE. is true, as for compilers with another .TRUE.; results have the bits of .TRUE. and .FALSE.
  subroutine logical_values
    logical :: odd(2)
    HANDLE(MPI_Comm) :: cart
    integer :: dims(2), coords(2), bits(2)
    equivalence (odd, bits)
    bits = [-1, 2]
    dims = [ranks, 1]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, odd, .false., cart, ierr)
    bits = 7
    call MPI_Cart_get(cart, 2, dims, odd, coords, ierr)
    call check(all(bits == transfer(.true., 1)), 'periods come back as .TRUE.')
    call MPI_Comm_free(cart, ierr)
    bits = 7
    call MPI_Initialized(odd(1), ierr)
    call MPI_Finalized(odd(2), ierr)
    call check(bits(1) == transfer(.true., 1), '.TRUE. of MPI_Initialized')
    call check(bits(2) == transfer(.false., 1), '.FALSE. of MPI_Finalized')
  end subroutine

  ! Cart_get writes as many elements as the grid has dimensions.
  subroutine unchanged
    logical :: periods(3)
    HANDLE(MPI_Comm) :: cart, point
    integer :: dims(3), coords(3)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.false.], .false., cart, ierr)
    periods = .true.
    dims = -7
    coords = -7
    call MPI_Cart_get(cart, 3, dims, periods, coords, ierr)
    call check(all(periods .eqv. [.false., .true., .true.]) .and. all(dims == [ranks, -7, -7]), 'cart_get of more dimensions')
    call MPI_Cart_sub(cart, [.false.], point, ierr)
    periods = .true.
    call MPI_Cart_get(point, 3, dims, periods, coords, ierr)
    call check(all(periods), 'cart_get of no dimensions')
    call MPI_Comm_free(point, ierr)
    call MPI_Comm_free(cart, ierr)
  end subroutine
end program
