! SPDX-License-Identifier: BSD-3-Clause
! Wrong input to mpi_f08: handles with a value that is none, freed ones, and array sections with wrong arguments. Each call
! returns the error class of its argument; nothing crashes.
program wrong_f08
  use mpi_f08
  implicit none
  integer :: ierr, rank, ranks, wrong, total, i
  integer :: numbers(8)
  type(MPI_Comm) :: freed

  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
  call MPI_Comm_dup(MPI_COMM_SELF, freed)
  numbers = [freed%MPI_VAL, MPI_ERRORS_RETURN%MPI_VAL, MPI_INFO_ENV%MPI_VAL, -1, 2047, 123456789, huge(0), -huge(0)]
  call MPI_Comm_free(freed)
  do i = 1, size(numbers)
    if (i /= 2) call handlers(numbers(i))
    if (i /= 3) call infos(numbers(i))
    call communication(numbers(i))
    call sections(numbers(i))
    call objects(numbers(i))
  end do
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'wrong input of mpi_f08:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1

contains

  subroutine expect(class, text)
    integer, intent(in) :: class
    character(len=*), intent(in) :: text
    integer :: got
    call MPI_Error_class(ierr, got)
    if (got == class) return
    wrong = wrong + 1
    print *, 'rank', rank, ': ', text, ' of', numbers(i), ': class', got, 'instead of', class
  end subroutine

  subroutine handlers(bad)
    integer, intent(in) :: bad
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_Errhandler(bad), ierr)
    call expect(MPI_ERR_ERRHANDLER, 'error handler')
  end subroutine

  subroutine infos(bad)
    integer, intent(in) :: bad
    integer :: n
    call MPI_Info_get_nkeys(MPI_Info(bad), n, ierr)
    call expect(MPI_ERR_INFO, 'info')
  end subroutine

  subroutine communication(bad)
    integer, intent(in) :: bad
    integer :: n, cell
    type(MPI_Request) :: requests(2)
    type(MPI_Message) :: message
    call MPI_Comm_size(MPI_Comm(bad), n, ierr)
    call expect(MPI_ERR_COMM, 'communicator')
    call MPI_Send(cell, 1, MPI_INTEGER, 0, 0, MPI_Comm(bad), ierr)
    call expect(MPI_ERR_COMM, 'communicator of a message')
    call MPI_Send(cell, 1, MPI_Datatype(bad), rank, 0, MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_TYPE, 'datatype')
    call MPI_Allreduce(cell, n, 1, MPI_INTEGER, MPI_Op(bad), MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_OP, 'operation')
    requests = [MPI_REQUEST_NULL, MPI_Request(bad)]
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call expect(MPI_ERR_REQUEST, 'array of requests')
    message = MPI_Message(bad)
    call MPI_Mrecv(cell, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE, ierr)
    call expect(MPI_ERR_REQUEST, 'message')
  end subroutine

  ! Sections with strides: their datatype is made from the descriptor, before the call checks its arguments.
  subroutine sections(bad)
    integer, intent(in) :: bad
    integer :: line(10)
    type(MPI_Request) :: request
    line = 0
    call MPI_Send(line(1:9:2), 5, MPI_Datatype(bad), rank, 0, MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_TYPE, 'datatype of a section')
    call MPI_Send(line(1:9:2), 5, MPI_INTEGER, rank, 0, MPI_Comm(bad), ierr)
    call expect(MPI_ERR_COMM, 'communicator of a section')
    call MPI_Isend(line(1:9:2), 6, MPI_INTEGER, rank, 0, MPI_COMM_WORLD, request, ierr)
    call expect(MPI_ERR_BUFFER, 'count beyond a section')
    call MPI_Allgather(line(1:9:2), 1, MPI_INTEGER, line(2:10:2), 1, MPI_Datatype(bad), MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_TYPE, 'datatype of a spread section')
    call MPI_Allreduce(MPI_IN_PLACE, line(1:9:2), 5, MPI_INTEGER, MPI_Op(bad), MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_OP, 'operation over a copied section')
  end subroutine

  subroutine objects(bad)
    integer, intent(in) :: bad
    integer :: n
    integer(MPI_OFFSET_KIND) :: offset
    type(MPI_Session) :: session
    type(MPI_Datatype) :: new_type
    call MPI_Group_size(MPI_Group(bad), n, ierr)
    call expect(MPI_ERR_GROUP, 'group')
    call MPI_Win_fence(0, MPI_Win(bad), ierr)
    call expect(MPI_ERR_WIN, 'window')
    call MPI_File_get_size(MPI_File(bad), offset, ierr)
    call expect(MPI_ERR_FILE, 'file')
    session = MPI_Session(bad)
    call MPI_Session_finalize(session, ierr)
    call expect(MPI_ERR_SESSION, 'session')
    call MPI_Type_vector(1, 1, 1, MPI_Datatype(bad), new_type, ierr)
    call expect(MPI_ERR_TYPE, 'datatype of a new one')
  end subroutine
end program
