! SPDX-License-Identifier: BSD-3-Clause
! mpi_f08 of a compiler without assumed rank: buffers of any type and rank are passed by their address. With an argument
! the program expects that the module says so.
program plain
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none
  type, bind(C) :: Point
    integer(c_int) :: x, y
  end type
  integer :: rank, ranks, wrong, total, left, right

  wrong = 0
  call MPI_Init()
  call PMPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  if (command_argument_count() > 0) then
    call check(.not. MPI_SUBARRAYS_SUPPORTED .and. .not. MPI_ASYNC_PROTECTS_NONBLOCKING, 'the module says what it lacks')
  end if
  call buffers
  call sentinels
  call sizes
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'plain mpi_f08:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1

contains

  include 'check.inc'

  subroutine buffers
    real :: grid(3, 2), other(3, 2)
    integer :: line(6), half(3), position
    type(Point) :: sent, got
    character(len=4) :: word
    character :: packed(64)
    integer(MPI_ADDRESS_KIND) :: place, room = 64
    integer(MPI_COUNT_KIND) :: six = 6
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: count
    grid = reshape([1, 2, 3, 4, 5, 6], [3, 2]) + 10.0 * rank
    call MPI_Irecv(other, six, MPI_REAL, left, 1, MPI_COMM_WORLD, request)
    call MPI_Send(grid, 6, MPI_REAL, right, 1, MPI_COMM_WORLD)
    call MPI_Wait(request, status)
    call MPI_Get_count(status, MPI_REAL, count)
    call check(count == 6 .and. all(other == grid - 10 * rank + 10 * left), 'a matrix, by a large count')
    sent = Point(rank, -rank)
    call MPI_Sendrecv(sent, 2, MPI_INTEGER, right, 2, got, 2, MPI_INTEGER, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(got%x == left .and. got%y == -left, 'a derived type')
    word = 'none'
    if (rank == 0) word = 'word'
    call MPI_Bcast(word, 4, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call check(word == 'word', 'a string')
    ! A blocking call may get a section: the compiler copies it.
    line = [1, 2, 3, 4, 5, 6]
    call MPI_Sendrecv(line(1:6:2), 3, MPI_INTEGER, rank, 3, half, 3, MPI_INTEGER, rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call check(all(half == [1, 3, 5]), 'a section of a blocking call')
    ! Strings between buffers: their lengths come after all arguments.
    place = 0
    call MPI_Pack_external('external32', line, 6, MPI_INTEGER, packed, room, place)
    call check(place == 24, 'pack_external')
    position = 0
    call MPI_Pack(line, 6, MPI_INTEGER, packed, 64, position, MPI_COMM_SELF)
    call check(position == 24, 'pack')
  end subroutine

  subroutine sentinels
    integer :: sums(2), code
    type(MPI_Request) :: requests(1)
    sums = [1, rank]
    call MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS .and. all(sums == [ranks, ranks * (ranks - 1) / 2]), 'MPI_IN_PLACE')
    requests = MPI_REQUEST_NULL
    call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(sums)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call MPI_Send(sums, -1, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, code)
    call check(code /= MPI_SUCCESS, 'an error returns')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine sizes
    real(c_double) :: number, cube(1, 1, 1, 1, 1, 1, 1)
    complex :: flat(2, 2)
    logical :: flag
    integer :: bytes
    call MPI_Sizeof(number, bytes)
    call check(bytes == 8, 'MPI_Sizeof of a scalar')
    call MPI_Sizeof(cube, bytes)
    call check(bytes == 8, 'MPI_Sizeof of seven dimensions')
    call MPI_Sizeof(flat(1:2:2, :), bytes)
    call check(bytes == 8, 'MPI_Sizeof of a section')
    call MPI_Sizeof(flag, bytes)
    call check(bytes == 4, 'MPI_Sizeof of a logical')
  end subroutine
end program
