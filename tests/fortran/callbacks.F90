! SPDX-License-Identifier: BSD-3-Clause
! Callbacks of every kind are called with the right arguments, and their results are used. Built with mpif.h (MPIF),
! `use mpi`, and `use mpi_f08` (F08).
#if defined(F08)
#define USE_MPI use mpi_f08
#define HEADER
#define HANDLE(name) type(name)
#define NUMBER(handle) handle%MPI_VAL
#define BINDING 'f08'
#else
#if defined(MPIF)
#define USE_MPI
#define HEADER include 'mpif.h'
#define BINDING 'mpif'
#else
#define USE_MPI use mpi
#define HEADER
#define BINDING 'mpi'
#endif
#define HANDLE(name) integer
#define NUMBER(handle) handle
#endif
module own_callbacks
  use, intrinsic :: iso_c_binding
  USE_MPI
  implicit none
  HEADER
  integer :: object_seen, code_seen, calls, refusal = MPI_SUCCESS, answer = MPI_SUCCESS
  integer(MPI_ADDRESS_KIND) :: value_seen, state_seen
  logical :: copies = .true., was_complete
  HANDLE(MPI_Datatype) :: map_type
contains
  subroutine saw(object, code)
    integer, intent(in) :: object, code
    object_seen = object
    code_seen = code
    calls = calls + 1
  end subroutine

  subroutine on_comm_error(object, code)
    HANDLE(MPI_Comm) :: object
    integer :: code
    call saw(NUMBER(object), code)
  end subroutine
  subroutine on_win_error(object, code)
    HANDLE(MPI_Win) :: object
    integer :: code
    call saw(NUMBER(object), code)
  end subroutine
  subroutine on_file_error(object, code)
    HANDLE(MPI_File) :: object
    integer :: code
    call saw(NUMBER(object), code)
  end subroutine
  subroutine on_session_error(object, code)
    HANDLE(MPI_Session) :: object
    integer :: code
    call saw(NUMBER(object), code)
  end subroutine

  subroutine copy(object, keyval, extra_state, value_in, value_out, flag, ierror)
    integer, intent(in) :: object, keyval
    integer(MPI_ADDRESS_KIND), intent(in) :: extra_state, value_in
    integer(MPI_ADDRESS_KIND), intent(out) :: value_out
    logical, intent(out) :: flag
    integer, intent(out) :: ierror
    call saw(object, keyval)
    value_out = value_in + extra_state
    flag = copies
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete(object, keyval, value, extra_state, ierror)
    integer, intent(in) :: object, keyval
    integer(MPI_ADDRESS_KIND), intent(in) :: value, extra_state
    integer, intent(out) :: ierror
    call saw(object, keyval)
    value_seen = value
    state_seen = extra_state
    ierror = refusal
  end subroutine
  subroutine copy_of_comm(object, keyval, extra_state, value_in, value_out, flag, ierror)
    HANDLE(MPI_Comm) :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    call copy(NUMBER(object), keyval, extra_state, value_in, value_out, flag, ierror)
  end subroutine
  subroutine delete_of_comm(object, keyval, value, extra_state, ierror)
    HANDLE(MPI_Comm) :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    call delete(NUMBER(object), keyval, value, extra_state, ierror)
  end subroutine
  subroutine copy_of_type(object, keyval, extra_state, value_in, value_out, flag, ierror)
    HANDLE(MPI_Datatype) :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    call copy(NUMBER(object), keyval, extra_state, value_in, value_out, flag, ierror)
  end subroutine
  subroutine delete_of_type(object, keyval, value, extra_state, ierror)
    HANDLE(MPI_Datatype) :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    call delete(NUMBER(object), keyval, value, extra_state, ierror)
  end subroutine
  subroutine copy_of_win(object, keyval, extra_state, value_in, value_out, flag, ierror)
    HANDLE(MPI_Win) :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    call copy(NUMBER(object), keyval, extra_state, value_in, value_out, flag, ierror)
  end subroutine
  subroutine delete_of_win(object, keyval, value, extra_state, ierror)
    HANDLE(MPI_Win) :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    call delete(NUMBER(object), keyval, value, extra_state, ierror)
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
#if defined(F08)
    type(MPI_Status) :: status
#else
    integer :: status(MPI_STATUS_SIZE)
#endif
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, 2, ierror)
    call MPI_Status_set_cancelled(status, .true., ierror)
    call MPI_Status_set_source(status, int(extra_state), ierror)
    ierror = answer
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    state_seen = extra_state
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    was_complete = complete
    extra_state = extra_state + 1
    calls = calls + 1
    ierror = MPI_SUCCESS
  end subroutine

  ! A file has each integer plus the state; a callback reads or writes from the element `position` on.
  subroutine extent_in_file(datatype, extent, extra_state, ierror)
    HANDLE(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = merge(4, 1, datatype == MPI_INTEGER .and. extra_state == 1000)
    ierror = MPI_SUCCESS
  end subroutine
#if defined(F08)
  subroutine read_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    HANDLE(MPI_Datatype) :: datatype
    integer :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:position + count) = file(1:count) - int(extra_state)
    calls = calls + 1
    ierror = merge(answer, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine write_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    HANDLE(MPI_Datatype) :: datatype
    integer :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    file(1:count) = user(position + 1:position + count) + int(extra_state)
    calls = calls + 1
    ierror = merge(answer, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine read_file_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    HANDLE(MPI_Datatype) :: datatype
    integer(MPI_COUNT_KIND) :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    user(position + 1:position + count) = file(1:count) - int(extra_state)
    calls = calls + 1
    ierror = merge(answer, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine write_file_c(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    HANDLE(MPI_Datatype) :: datatype
    integer(MPI_COUNT_KIND) :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [position + count])
    call c_f_pointer(filebuf, file, [count])
    file(1:count) = user(position + 1:position + count) + int(extra_state)
    calls = calls + 1
    ierror = merge(answer, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine

  ! Maps x -> a x + b, one after the other: the order matters.
  subroutine compose(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: first(:, :), then(:, :)
    call c_f_pointer(invec, first, [2, int(len)])
    call c_f_pointer(inoutvec, then, [2, int(len)])
    if (datatype /= map_type) return
    then(2, :) = then(1, :) * first(2, :) + then(2, :)
    then(1, :) = then(1, :) * first(1, :)
  end subroutine
  subroutine compose_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: first(:, :), then(:, :)
    call c_f_pointer(invec, first, [2, int(len)])
    call c_f_pointer(inoutvec, then, [2, int(len)])
    if (datatype /= map_type) return
    then(2, :) = then(1, :) * first(2, :) + then(2, :)
    then(1, :) = then(1, :) * first(1, :)
  end subroutine
#else
  subroutine read_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: userbuf(*), filebuf(*)
    HANDLE(MPI_Datatype) :: datatype
    integer :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    userbuf(position + 1:position + count) = filebuf(1:count) - int(extra_state)
    calls = calls + 1
    ierror = merge(answer, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine
  subroutine write_file(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    integer :: userbuf(*), filebuf(*)
    HANDLE(MPI_Datatype) :: datatype
    integer :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    filebuf(1:count) = userbuf(position + 1:position + count) + int(extra_state)
    calls = calls + 1
    ierror = merge(answer, MPI_ERR_TYPE, datatype == MPI_INTEGER)
  end subroutine

  ! Maps x -> a x + b, one after the other: the order matters.
  subroutine compose(first, then, len, datatype)
    integer :: len, datatype, first(2, len), then(2, len)
    if (datatype /= map_type) return
    then(2, :) = then(1, :) * first(2, :) + then(2, :)
    then(1, :) = then(1, :) * first(1, :)
  end subroutine
#endif
end module

program callbacks
  use own_callbacks
  implicit none
  integer :: ierr, rank, ranks, wrong, total, n
  logical :: mpich
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version

  wrong = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Get_library_version(version, n, ierr)
  mpich = index(version, 'MPICH') == 1
  call errors
  call errors_of_files
  call attributes
  call attributes_of_windows
  call requests
  ! MPICH 5.0 has no representations of the program.
  if (.not. mpich) call representations
  call operations
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'callbacks:', total, ' wrong'
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  include 'check.inc'

  ! One call of an error handler since the last check.
  subroutine check_error(object, class, text)
    integer, intent(in) :: object, class
    character(len=*), intent(in) :: text
    integer :: got, code
    got = -1
    if (calls == 1) call MPI_Error_class(code_seen, got, code)
    call check(calls == 1 .and. got == class, 'error of a ' // text)
    call check(object_seen == object, 'object with an error: ' // text)
    calls = 0
  end subroutine

  subroutine errors
    HANDLE(MPI_Errhandler) :: handler
    HANDLE(MPI_Comm) :: comm
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_Session) :: session
    HANDLE(MPI_Info) :: info
    integer :: cell(1)
    calls = 0
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_create_errhandler(on_comm_error, handler, ierr)
    call MPI_Comm_set_errhandler(comm, handler, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call MPI_Send(cell, 1, MPI_INTEGER, ranks, 0, comm, ierr)
    call check_error(NUMBER(comm), MPI_ERR_RANK, 'communicator')
    call MPI_Comm_call_errhandler(comm, MPI_ERR_TAG, ierr)
    call check_error(NUMBER(comm), MPI_ERR_TAG, 'communicator, by the program')
    call MPI_Comm_free(comm, ierr)

    call MPI_Win_create(cell, 4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_create_errhandler(on_win_error, handler, ierr)
    call MPI_Win_set_errhandler(win, handler, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call MPI_Win_fence(0, win, ierr)
    call MPI_Put(cell, 1, MPI_INTEGER, ranks, 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, ierr)
    call check_error(NUMBER(win), MPI_ERR_RANK, 'window')
    call MPI_Win_call_errhandler(win, MPI_ERR_BASE, ierr)
    call check_error(NUMBER(win), MPI_ERR_BASE, 'window, by the program')
    call MPI_Win_fence(0, win, ierr)
    call MPI_Win_free(win, ierr)

    call MPI_Session_create_errhandler(on_session_error, handler, ierr)
    call MPI_Session_init(MPI_INFO_NULL, handler, session, ierr)
    call MPI_Errhandler_free(handler, ierr)
    call MPI_Session_get_pset_info(session, 'mpi://NOTHING', info, ierr)
    call check(calls == 1 .and. object_seen == NUMBER(session), 'error of a session')
    calls = 0
    call MPI_Session_call_errhandler(session, MPI_ERR_INFO, ierr)
    call check_error(NUMBER(session), MPI_ERR_INFO, 'session, by the program')
    call MPI_Session_finalize(session, ierr)
  end subroutine

  subroutine open_file(file)
    HANDLE(MPI_File) :: file
    character(len=40) :: name
    write (name, '(a, i0)') 'callbacks_' // BINDING // '.', ranks
    call MPI_File_open(MPI_COMM_WORLD, name, ior(ior(MPI_MODE_RDWR, MPI_MODE_CREATE), MPI_MODE_DELETE_ON_CLOSE), &
                       MPI_INFO_NULL, file, ierr)
    call check(ierr == MPI_SUCCESS, 'file_open')
  end subroutine

  subroutine errors_of_files
    HANDLE(MPI_Errhandler) :: handler
    HANDLE(MPI_File) :: file, missing
    integer :: cell(1)
    calls = 0
    call MPI_File_create_errhandler(on_file_error, handler, ierr)
    call open_file(file)
    call MPI_File_set_errhandler(file, handler, ierr)
    call MPI_File_read_at(file, -100_MPI_OFFSET_KIND, cell, 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call check_error(NUMBER(file), MPI_ERR_ARG, 'file')
    call MPI_File_call_errhandler(file, MPI_ERR_IO, ierr)
    call check_error(NUMBER(file), MPI_ERR_IO, 'file, by the program')
    call MPI_File_close(file, ierr)
    call MPI_File_set_errhandler(MPI_FILE_NULL, handler, ierr)
    call MPI_File_open(MPI_COMM_SELF, '/nothing/at/all', MPI_MODE_RDONLY, MPI_INFO_NULL, missing, ierr)
    call check_error(NUMBER(MPI_FILE_NULL), MPI_ERR_NO_SUCH_FILE, 'file that does not exist')
    call MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN, ierr)
    call MPI_Errhandler_free(handler, ierr)
  end subroutine

  subroutine attributes
    HANDLE(MPI_Comm) :: comm, second
    HANDLE(MPI_Datatype) :: type, other
    integer :: keyval
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(copy_of_comm, delete_of_comm, keyval, 3_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, comm, ierr)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_set_attr(comm, keyval, -40_MPI_ADDRESS_KIND, ierr)
    calls = 0
    call MPI_Comm_dup(comm, second, ierr)
    call check(calls == 1 .and. object_seen == NUMBER(comm) .and. code_seen == keyval, 'copy of a communicator')
    call MPI_Comm_get_attr(second, keyval, value, flag, ierr)
    call check(flag .and. value == -37, 'copy of an attribute')
    call MPI_Comm_free(second, ierr)
    call check(calls == 2 .and. value_seen == -37 .and. state_seen == 3, 'deletion by comm_free')
    copies = .false.
    call MPI_Comm_dup(comm, second, ierr)
    copies = .true.
    call MPI_Comm_get_attr(second, keyval, value, flag, ierr)
    call check(calls == 3 .and. .not. flag, 'an attribute that its callback does not copy')
    call MPI_Comm_free(second, ierr)
    call check(calls == 3, 'no attribute to delete')
    refusal = MPI_ERR_OTHER
    call MPI_Comm_delete_attr(comm, keyval, ierr)
    call check(ierr /= MPI_SUCCESS, 'the error of a deletion comes back')
    refusal = MPI_SUCCESS
    call MPI_Comm_get_attr(comm, keyval, value, flag, ierr)
    call check(flag .and. value == -40, 'an attribute that was not deleted')
    call MPI_Comm_free(comm, ierr)
    call check(object_seen /= NUMBER(MPI_COMM_NULL) .and. value_seen == -40, 'deletion with the communicator')
    call MPI_Comm_free_keyval(keyval, ierr)

    call MPI_Type_create_keyval(copy_of_type, delete_of_type, keyval, 5_MPI_ADDRESS_KIND, ierr)
    call MPI_Type_contiguous(2, MPI_INTEGER, type, ierr)
    call MPI_Type_set_attr(type, keyval, 60_MPI_ADDRESS_KIND, ierr)
    calls = 0
    call MPI_Type_dup(type, other, ierr)
    call check(calls == 1 .and. object_seen == NUMBER(type) .and. code_seen == keyval, 'copy of a datatype')
    call MPI_Type_free(other, ierr)
    call check(calls == 2 .and. value_seen == 65 .and. state_seen == 5, 'deletion by type_free')
    call MPI_Type_free(type, ierr)
    call MPI_Type_free_keyval(keyval, ierr)
  end subroutine

  subroutine attributes_of_windows
    HANDLE(MPI_Win) :: win
    integer :: cell(1), keyval, old
    call MPI_Win_create_keyval(copy_of_win, delete_of_win, keyval, 7_MPI_ADDRESS_KIND, ierr)
    call MPI_Win_create(cell, 4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierr)
    call MPI_Win_set_attr(win, keyval, 80_MPI_ADDRESS_KIND, ierr)
    old = NUMBER(win)
    calls = 0
    call MPI_Win_set_attr(win, keyval, 81_MPI_ADDRESS_KIND, ierr)
    call check(calls == 1 .and. value_seen == 80 .and. object_seen == old, 'deletion by another value')
    call MPI_Win_free(win, ierr)
    call check(calls == 2 .and. value_seen == 81 .and. state_seen == 7, 'deletion by win_free')
    call MPI_Win_free_keyval(keyval, ierr)
  end subroutine

  subroutine requests
    HANDLE(MPI_Request) :: request
    integer :: class, code
    integer(MPI_ADDRESS_KIND) :: state
    logical :: flag
#if defined(F08)
    type(MPI_Status) :: status
#else
    integer :: status(MPI_STATUS_SIZE)
#endif
    calls = 0
    state = 41
    call MPI_Grequest_start(query, release, cancel, state, request, ierr)
    was_complete = .true.
    call MPI_Cancel(request, ierr)
    call check(calls == 1 .and. .not. was_complete, 'cancel of a request')
    call MPI_Grequest_complete(request, ierr)
    call MPI_Cancel(request, ierr)
    call check(calls == 2 .and. was_complete, 'cancel of a complete request')
    state_seen = 0
    call MPI_Wait(request, status, ierr)
    call check(state_seen == 43, 'the state of a request')
    call MPI_Get_elements(status, MPI_INTEGER, n, ierr)
    call check(n == 2, 'elements of a status')
    call MPI_Status_get_source(status, n, ierr)
    call check(n == 43, 'source of a status')
    call MPI_Test_cancelled(status, flag, ierr)
    call check(flag, 'cancelled')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Grequest_start(query, release, cancel, state, request, ierr)
    call MPI_Grequest_complete(request, ierr)
    answer = MPI_ERR_IO
    call MPI_Wait(request, status, ierr)
    answer = MPI_SUCCESS
    call MPI_Error_class(ierr, class, code)
    call check(class == MPI_ERR_IO, 'the error of a query comes back')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
  end subroutine

  subroutine representations
    call MPI_Register_datarep('thousand  ', read_file, write_file, extent_in_file, 1000_MPI_ADDRESS_KIND, ierr)
    call check(ierr == MPI_SUCCESS, 'register_datarep')
    call use_representation('thousand')
#if defined(F08)
    call MPI_Register_datarep_c('thousand_c', read_file_c, write_file_c, extent_in_file, 1000_MPI_ADDRESS_KIND, ierr)
    call check(ierr == MPI_SUCCESS, 'register_datarep_c')
    call use_representation('thousand_c')
#endif
  end subroutine

  subroutine use_representation(datarep)
    character(len=*), intent(in) :: datarep
    HANDLE(MPI_File) :: file
    integer :: cells(3), got(3), class, code
    integer(MPI_ADDRESS_KIND) :: extent
    integer(MPI_OFFSET_KIND) :: place
    call open_file(file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, datarep, MPI_INFO_NULL, ierr)
    call check(ierr == MPI_SUCCESS, datarep // ': set_view')
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierr)
    call check(extent == 4, datarep // ': extent')
    calls = 0
    cells = 10 * rank + [1, 2, 3]
    place = 3 * rank
    call MPI_File_write_at_all(file, place, cells, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call check(calls >= 1 .and. ierr == MPI_SUCCESS, datarep // ': write')
    calls = 0
    got = 0
    call MPI_File_read_at(file, place, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call check(calls >= 1 .and. all(got == cells), datarep // ': read')
    answer = MPI_ERR_CONVERSION
    call MPI_File_read_at(file, place, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    answer = MPI_SUCCESS
    call MPI_Error_class(ierr, class, code)
    call check(class == MPI_ERR_CONVERSION, datarep // ': the error of a conversion comes back')
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierr)
    call MPI_File_read_at(file, place, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierr)
    call check(all(got == cells + 1000), datarep // ': what the file has')
    call MPI_File_close(file, ierr)
  end subroutine

  subroutine operations
    HANDLE(MPI_Op) :: op
    call MPI_Type_contiguous(2, MPI_INTEGER, map_type, ierr)
    call MPI_Type_commit(map_type, ierr)
    call MPI_Op_create(compose, .false., op, ierr)
    call check_operation(op, 'operation')
#if defined(F08)
    call MPI_Op_create_c(compose_c, .false., op, ierr)
    call check_operation(op, 'operation with large counts')
#endif
    call MPI_Type_free(map_type, ierr)
  end subroutine

  subroutine check_operation(op, text)
    HANDLE(MPI_Op) :: op
    character(len=*), intent(in) :: text
    integer :: mine(2, 3), all_of(2, 3), expected(2), i
    logical :: commutes
    mine = spread([2, rank + 1], 2, 3)
    call MPI_Allreduce(mine, all_of, 3, map_type, op, MPI_COMM_WORLD, ierr)
    expected = [1, 0]
    do i = 1, ranks
      expected = [2 * expected(1), 2 * expected(2) + i]
    end do
    call check(all(all_of == spread(expected, 2, 3)), text)
    call MPI_Op_commutative(op, commutes, ierr)
    call check(.not. commutes, text // ' commutes')
    call MPI_Op_free(op, ierr)
  end subroutine
end program
