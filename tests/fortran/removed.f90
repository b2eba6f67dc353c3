! SPDX-License-Identifier: BSD-3-Clause
! Procedures that MPI 3.0 removed and old programs still call.
program removed
  implicit none
  include 'mpif.h'
  integer :: ierr, rank, wrong, total, n, type, handler, lengths(2), places(2), types(2), line(8), got(8)
  integer :: status(MPI_STATUS_SIZE)

  wrong = 0
  lengths = 1
  places = [0, 12]
  types = MPI_INTEGER
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Errhandler_get(MPI_COMM_WORLD, handler, ierr)
  call MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Send(n, 1, MPI_INTEGER, -9, 0, MPI_COMM_WORLD, ierr)
  if (ierr == MPI_SUCCESS) wrong = wrong + 1
  call MPI_Errhandler_set(MPI_COMM_WORLD, handler, ierr)
  call MPI_Type_extent(MPI_DOUBLE_PRECISION, n, ierr)
  if (n /= 8) wrong = wrong + 1
  call MPI_Type_struct(2, lengths, places, types, type, ierr)
  call check_type
  call MPI_Type_hindexed(2, lengths, places, MPI_INTEGER, type, ierr)
  call check_type
  call MPI_Type_hvector(2, 1, 12, MPI_INTEGER, type, ierr)
  call check_type
  call address
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'removed:', total, ' wrong'
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  subroutine check_type
    call MPI_Type_commit(type, ierr)
    call MPI_Type_ub(type, n, ierr)
    if (n /= 16) wrong = wrong + 1
    call MPI_Type_lb(type, n, ierr)
    if (n /= 0) wrong = wrong + 1
    line = [1, 2, 3, 4, 5, 6, 7, 8]
    got = 0
    call MPI_Sendrecv(line, 1, type, rank, 0, got, 2, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, status, ierr)
    if (got(1) /= 1 .or. got(2) /= 4) wrong = wrong + 1
    call MPI_Type_free(type, ierr)
  end subroutine

  ! An address has 8 bytes here: it fits by chance only.
  subroutine address
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: class, length, code
    call MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call MPI_Address(line, n, ierr)
    if (ierr == MPI_SUCCESS) return
    call MPI_Error_class(ierr, class, code)
    call MPI_Error_string(ierr, text, length, code)
    if (class /= MPI_ERR_ARG .or. index(text, 'MPI_GET_ADDRESS') == 0) wrong = wrong + 1
  end subroutine
end program
