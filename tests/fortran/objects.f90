! SPDX-License-Identifier: BSD-3-Clause
! Objects of every kind cross between C and Fortran by MPI_X_c2f and MPI_X_f2c.
module objects_in_c
  use, intrinsic :: iso_c_binding
  implicit none
  enum, bind(C)
    enumerator :: k_comm = 1, k_datatype, k_errhandler, k_file, k_group, k_info, k_message, k_op, k_request, k_session, k_win
  end enum
  interface
    integer(c_int) function comm_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function type_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function errhandler_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function file_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function group_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function info_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function message_in_c(handle) bind(C)
      import :: c_int
      integer(c_int) :: handle
    end function
    integer(c_int) function op_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function request_in_c(handle) bind(C)
      import :: c_int
      integer(c_int) :: handle
    end function
    integer(c_int) function session_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    integer(c_int) function win_in_c(handle) bind(C)
      import :: c_int
      integer(c_int), value :: handle
    end function
    subroutine make_objects(file_name, handles) bind(C)
      import :: c_char, c_int, k_win
      character(kind=c_char) :: file_name(*)
      integer(c_int) :: handles(k_win)
    end subroutine
    subroutine null_objects(handles) bind(C)
      import :: c_int, k_win
      integer(c_int) :: handles(k_win)
    end subroutine
    integer(c_int) function predefined_in_c(comm, type, op, errhandler, group, message) bind(C)
      import :: c_int
      integer(c_int), value :: comm, type, op, errhandler, group, message
    end function
  end interface
end module

program objects
  use mpi_f08
  use objects_in_c
  implicit none
  integer :: rank, ranks, wrong, total
  character(len=20) :: name

  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  write (name, '(a, i0, a, i0)') 'objects_', ranks, '.', rank
  call from_fortran
  call messages_from_fortran
  call from_c
  call predefined
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'objects:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1

contains

  include 'check.inc'

  subroutine minimum(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(invec, from, [len])
    call c_f_pointer(inoutvec, to, [len])
    to = min(from, to)
    if (datatype /= MPI_INTEGER .and. datatype /= MPI_INT) to = -1
  end subroutine

  subroutine ignore(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm == MPI_COMM_NULL) code = -1
  end subroutine

  subroutine from_fortran
    type(MPI_Comm) :: comm
    type(MPI_Datatype) :: type
    type(MPI_Errhandler) :: handler
    type(MPI_File) :: file
    type(MPI_Group) :: group
    type(MPI_Info) :: info
    type(MPI_Op) :: op
    type(MPI_Session) :: session
    type(MPI_Win) :: win
    integer :: cells(3), mode, sets
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call check(comm_in_c(comm%MPI_VAL) == ranks, 'a communicator in C')
    call MPI_Comm_free(comm)
    call MPI_Type_contiguous(3, MPI_DOUBLE_PRECISION, type)
    call check(type_in_c(type%MPI_VAL) == 24, 'a datatype in C')
    call MPI_Type_free(type)
    call MPI_Comm_create_errhandler(ignore, handler)
    call check(errhandler_in_c(handler%MPI_VAL) == 1, 'an error handler in C')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
    mode = MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE
    call MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, file)
    call check(file_in_c(file%MPI_VAL) == mode, 'a file in C')
    call MPI_File_close(file)
    call MPI_Comm_group(MPI_COMM_WORLD, group)
    call check(group_in_c(group%MPI_VAL) == ranks, 'a group in C')
    call MPI_Group_free(group)
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'value')
    call check(info_in_c(info%MPI_VAL) == 1, 'an info in C')
    call MPI_Info_free(info)
    call MPI_Op_create(minimum, .true., op)
    call check(op_in_c(op%MPI_VAL) == 3, 'an operation in C')
    call MPI_Op_free(op)
    call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, sets)
    call check(session_in_c(session%MPI_VAL) == sets, 'a session in C')
    call MPI_Session_finalize(session)
    call MPI_Win_create(cells, 12_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call check(win_in_c(win%MPI_VAL) == 12, 'a window in C')
    call MPI_Win_free(win)
  end subroutine

  subroutine messages_from_fortran
    type(MPI_Request) :: request
    type(MPI_Message) :: message
    integer, asynchronous :: cell
    cell = 77
    call MPI_Isend(cell, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, request)
    call MPI_Mprobe(0, 1, MPI_COMM_SELF, message, MPI_STATUS_IGNORE)
    call check(message_in_c(message%MPI_VAL) == 77, 'a message in C')
    call check(message == MPI_MESSAGE_NULL, 'a message received in C')
    call check(request_in_c(request%MPI_VAL) == MPI_SUCCESS, 'a request in C')
    call check(request == MPI_REQUEST_NULL, 'a request completed in C')
  end subroutine

  subroutine from_c
    integer :: handles(k_win), n, cell, copy
    logical :: flag
    character(len=8) :: value
    integer(MPI_ADDRESS_KIND) :: length
    type(MPI_Comm) :: comm
    type(MPI_Datatype) :: type
    type(MPI_Errhandler) :: handler
    type(MPI_File) :: file
    type(MPI_Group) :: group
    type(MPI_Info) :: info
    type(MPI_Message) :: message
    type(MPI_Op) :: op
    type(MPI_Request) :: request
    type(MPI_Session) :: session
    type(MPI_Win) :: win
    call make_objects(trim(name) // c_null_char, handles)
    comm%MPI_VAL = handles(k_comm)
    call MPI_Comm_size(comm, n)
    call check(n == 1, 'a communicator of C')
    type%MPI_VAL = handles(k_datatype)
    call MPI_Type_size(type, n)
    call check(n == 12, 'a datatype of C')
    call MPI_Type_free(type)
    handler%MPI_VAL = handles(k_errhandler)
    call MPI_Comm_set_errhandler(comm, handler)
    call MPI_Send(n, 1, MPI_INTEGER, 99, 0, comm, copy) ! ends the job if the handler is not used
    call MPI_Errhandler_free(handler)
    call MPI_Comm_free(comm)
    file%MPI_VAL = handles(k_file)
    call MPI_File_get_amode(file, n)
    call check(n == MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, 'a file of C')
    call MPI_File_close(file)
    group%MPI_VAL = handles(k_group)
    call MPI_Group_size(group, n)
    call check(n == 1, 'a group of C')
    call MPI_Group_free(group)
    info%MPI_VAL = handles(k_info)
    n = len(value)
    call MPI_Info_get_string(info, 'key', n, value, flag)
    call check(flag .and. value == 'value', 'an info of C')
    call MPI_Info_free(info)
    message%MPI_VAL = handles(k_message)
    call MPI_Mrecv(cell, 1, MPI_INTEGER, message, MPI_STATUS_IGNORE)
    call check(cell == 5, 'a message of C')
    request%MPI_VAL = handles(k_request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call check(request == MPI_REQUEST_NULL, 'a request of C')
    op%MPI_VAL = handles(k_op)
    call MPI_Allreduce(rank, n, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
    call check(n == ranks - 1, 'an operation of C')
    call MPI_Op_free(op)
    session%MPI_VAL = handles(k_session)
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n)
    call check(n >= 2, 'a session of C')
    call MPI_Session_finalize(session)
    win%MPI_VAL = handles(k_win)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, length, flag)
    call check(flag .and. length == 4, 'a window of C')
    call MPI_Win_free(win)
  end subroutine

  subroutine predefined
    integer :: handles(k_win)
    call null_objects(handles)
    call check(all(handles == [MPI_COMM_NULL%MPI_VAL, MPI_DATATYPE_NULL%MPI_VAL, MPI_ERRHANDLER_NULL%MPI_VAL, &
                               MPI_FILE_NULL%MPI_VAL, MPI_GROUP_NULL%MPI_VAL, MPI_INFO_NULL%MPI_VAL, &
                               MPI_MESSAGE_NULL%MPI_VAL, MPI_OP_NULL%MPI_VAL, MPI_REQUEST_NULL%MPI_VAL, &
                               MPI_SESSION_NULL%MPI_VAL, MPI_WIN_NULL%MPI_VAL]), 'null handles of C')
    call check(predefined_in_c(MPI_COMM_WORLD%MPI_VAL, MPI_DOUBLE_PRECISION%MPI_VAL, MPI_MAXLOC%MPI_VAL, &
                               MPI_ERRORS_ABORT%MPI_VAL, MPI_GROUP_EMPTY%MPI_VAL, MPI_MESSAGE_NO_PROC%MPI_VAL) == 1, &
               'predefined handles in C')
  end subroutine
end program
