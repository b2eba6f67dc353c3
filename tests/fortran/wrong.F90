! SPDX-License-Identifier: BSD-3-Clause
! Wrong input: a handle of another kind, a freed one, a number that is none, and callbacks of the other style. Each call
! returns the error class of its argument; nothing crashes. Built with `use mpi` and with mpif.h.
#ifdef MPIF
#define USE_MPI
#define HEADER include 'mpif.h'
#else
#define USE_MPI use mpi
#define HEADER
#endif
module old_style
  USE_MPI
  implicit none
  HEADER
contains
  ! The operation of mpif.h, for mpi_f08.
  subroutine add(invec, inoutvec, len, datatype)
    integer :: len, datatype, invec(len), inoutvec(len)
    if (datatype == MPI_INTEGER) inoutvec = inoutvec + invec
  end subroutine
  ! Attributes of MPI_KEYVAL_CREATE, for MPI_COMM_CREATE_KEYVAL.
  subroutine copy(comm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: comm, keyval, extra_state, value_in, value_out, ierror
    logical :: flag
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine forget(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, value, extra_state, ierror
    ierror = MPI_SUCCESS
  end subroutine
  ! Attributes of MPI_COMM_CREATE_KEYVAL, for MPI_KEYVAL_CREATE.
  subroutine wide_copy(comm, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine wide_forget(comm, keyval, value, extra_state, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    ierror = merge(MPI_SUCCESS, MPI_ERR_OTHER, value == -3 .or. value == -4)
  end subroutine
  ! The operation of MPI_OP_CREATE_C, for MPI_OP_CREATE.
  subroutine wide_add(invec, inoutvec, len, datatype)
    integer(MPI_COUNT_KIND) :: len
    integer :: datatype, invec(len), inoutvec(len)
    if (datatype == MPI_INTEGER) inoutvec = inoutvec + invec
  end subroutine
end module

subroutine operation_of_other_style(total)
  use mpi_f08
  use old_style, only : add
  implicit none
  integer, intent(out) :: total
  type(MPI_Op) :: op
  external :: pass_procedure
  call pass_procedure(add, op%MPI_VAL)
  call MPI_Allreduce(1, total, 1, MPI_INTEGER, op, MPI_COMM_WORLD)
  call MPI_Op_free(op)
end subroutine

! Without an interface the compiler cannot compare the procedure with that of mpi_f08.
subroutine pass_procedure(procedure, op)
  implicit none
  external :: procedure, mpi_op_create_f08
  integer :: op, ierr
  call mpi_op_create_f08(procedure, .true., op, ierr)
end subroutine

program wrong_input
  use, intrinsic :: iso_c_binding
  USE_MPI
  use old_style
  implicit none
  integer :: ierr, rank, ranks, wrong, total, i, n, handle, freed, keyval, second, op
  integer :: numbers(6)
  integer(MPI_ADDRESS_KIND) :: value
  logical :: flag

  wrong = 0
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
  call MPI_Comm_dup(MPI_COMM_SELF, freed, ierr)
  handle = freed
  call MPI_Comm_free(freed, ierr)
  numbers = [handle, -1, 2047, 123456789, huge(0), -huge(0)]
  do i = 1, size(numbers)
    call try(numbers(i))
  end do
  ! Predefined handles of another kind.
  call MPI_Comm_size(MPI_INTEGER, n, ierr)
  call expect(MPI_ERR_COMM, 'a datatype as communicator')
  call MPI_Type_size(MPI_COMM_WORLD, n, ierr)
  call expect(MPI_ERR_TYPE, 'a communicator as datatype')
  call MPI_Allreduce(rank, n, 1, MPI_INTEGER, MPI_REAL, MPI_COMM_WORLD, ierr)
  call expect(MPI_ERR_OP, 'a datatype as operation')
  call MPI_Group_size(MPI_SUM, n, ierr)
  call expect(MPI_ERR_GROUP, 'an operation as group')
  call MPI_Comm_size(MPI_COMM_NULL, n, ierr)
  call expect(MPI_ERR_COMM, 'a null communicator')
  call other_callbacks
  call many_callbacks
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierr)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print *, 'wrong input:', total, ' wrong'
  call MPI_Finalize(ierr)
  if (total /= 0) stop 1

contains

  subroutine expect(class, text)
    integer, intent(in) :: class
    character(len=*), intent(in) :: text
    integer :: got, code
    call MPI_Error_class(ierr, got, code)
    if (got == class) return
    wrong = wrong + 1
    print *, 'rank', rank, ': ', text, ': class', got, 'instead of', class
  end subroutine

  subroutine try(bad)
    integer, intent(in) :: bad
    integer :: copy_of, cell, requests(2), types(ranks), zeros(ranks)
    integer(MPI_OFFSET_KIND) :: offset
    copy_of = bad
    call MPI_Comm_size(bad, n, ierr)
    call expect(MPI_ERR_COMM, 'communicator')
    call MPI_Comm_free(copy_of, ierr)
    call expect(MPI_ERR_COMM, 'communicator to free')
    call MPI_Send(rank, 1, bad, rank, 0, MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_TYPE, 'datatype')
    call MPI_Allreduce(rank, n, 1, MPI_INTEGER, bad, MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_OP, 'operation')
    call MPI_Group_size(bad, n, ierr)
    call expect(MPI_ERR_GROUP, 'group')
    call MPI_Info_get_nkeys(bad, n, ierr)
    call expect(MPI_ERR_INFO, 'info')
    call MPI_Win_fence(0, bad, ierr)
    call expect(MPI_ERR_WIN, 'window')
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, bad, ierr)
    call expect(MPI_ERR_ERRHANDLER, 'error handler')
    copy_of = bad
    call MPI_Wait(copy_of, MPI_STATUS_IGNORE, ierr)
    call expect(MPI_ERR_REQUEST, 'request')
    requests = [MPI_REQUEST_NULL, bad]
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call expect(MPI_ERR_REQUEST, 'array of requests')
    copy_of = bad
    call MPI_Mrecv(cell, 1, MPI_INTEGER, copy_of, MPI_STATUS_IGNORE, ierr)
    call expect(MPI_ERR_REQUEST, 'message')
    copy_of = bad
    call MPI_Session_finalize(copy_of, ierr)
    call expect(MPI_ERR_SESSION, 'session')
    call MPI_File_get_size(bad, offset, ierr)
    call expect(MPI_ERR_FILE, 'file')
    call MPI_Comm_create_group(MPI_COMM_SELF, bad, 0, copy_of, ierr)
    call expect(MPI_ERR_GROUP, 'group of a new communicator')
    call MPI_Type_vector(1, 1, 1, bad, copy_of, ierr)
    call expect(MPI_ERR_TYPE, 'datatype of a new one')
    requests = bad
    call MPI_Startall(2, requests, ierr)
    call expect(MPI_ERR_REQUEST, 'requests to start')
    zeros = 0
    types = bad
    call MPI_Alltoallw(cell, zeros, zeros, types, cell, zeros, zeros, types, bad, ierr)
    call expect(MPI_ERR_COMM, 'communicator of alltoallw')
    call MPI_Neighbor_alltoallw(cell, zeros, [0_MPI_ADDRESS_KIND], types, cell, zeros, [0_MPI_ADDRESS_KIND], types, &
                                MPI_COMM_WORLD, ierr)
    call expect(MPI_ERR_TOPOLOGY, 'no topology')
  end subroutine

  subroutine other_callbacks
    call operation_of_other_style(n)
    if (n /= ranks) wrong = wrong + 1
    call MPI_Comm_create_keyval(copy, forget, keyval, 1_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 6_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, second, ierr)
    call MPI_Comm_get_attr(second, keyval, value, flag, ierr)
    if (.not. flag .or. value /= 7) wrong = wrong + 1
    call MPI_Comm_free(second, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierr)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, -6_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, second, ierr)
    call MPI_Comm_get_attr(second, keyval, value, flag, ierr)
    if (.not. flag .or. value /= -5) wrong = wrong + 1
    call MPI_Comm_free(second, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierr)
    call MPI_Comm_free_keyval(keyval, ierr)
    call MPI_Keyval_create(wide_copy, wide_forget, keyval, 1, ierr)
    call MPI_Attr_put(MPI_COMM_SELF, keyval, -4, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, second, ierr)
    call MPI_Attr_get(second, keyval, n, flag, ierr)
    if (.not. flag .or. n /= -3) wrong = wrong + 1
    call MPI_Comm_free(second, ierr)
    call expect(MPI_SUCCESS, 'attributes of the other kind of integer')
    call MPI_Attr_delete(MPI_COMM_SELF, keyval, ierr)
    call expect(MPI_SUCCESS, 'deleting an attribute of the other kind of integer')
    call MPI_Keyval_free(keyval, ierr)
    call MPI_Op_create(wide_add, .true., op, ierr)
    call MPI_Allreduce(1, n, 1, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
    if (n /= ranks) wrong = wrong + 1
    call MPI_Op_free(op, ierr)
    ! The null and dup functions of another object.
    call MPI_Comm_create_keyval(MPI_TYPE_DUP_FN, MPI_WIN_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_set_attr(MPI_COMM_SELF, keyval, 6_MPI_ADDRESS_KIND, ierr)
    call MPI_Comm_dup(MPI_COMM_SELF, second, ierr)
    call MPI_Comm_get_attr(second, keyval, value, flag, ierr)
    if (.not. flag .or. value /= 6) wrong = wrong + 1
    call MPI_Comm_free(second, ierr)
    call MPI_Comm_delete_attr(MPI_COMM_SELF, keyval, ierr)
    call MPI_Comm_free_keyval(keyval, ierr)
  end subroutine

  ! More procedures than fit, at addresses where there is none: they are not called.
  subroutine many_callbacks
    procedure(add), pointer :: procedure
    type(c_funptr) :: address
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length, code
    do i = 1, 300
      address = transfer(int(16 * i, c_intptr_t), address)
      call c_f_procpointer(address, procedure)
      call MPI_Op_create(procedure, .true., op, ierr)
      if (ierr /= MPI_SUCCESS) exit
      call MPI_Op_free(op, ierr)
    end do
    call expect(MPI_ERR_OTHER, 'too many operations')
    call MPI_Error_string(ierr, text, length, code)
    if (i < 200 .or. index(text, '256') == 0) wrong = wrong + 1
    do i = 1, 300
      address = transfer(int(16 * i, c_intptr_t), address)
      call c_f_procpointer(address, procedure)
      call MPI_Comm_create_errhandler(procedure, handle, ierr)
      if (ierr /= MPI_SUCCESS) exit
      call MPI_Errhandler_free(handle, ierr)
    end do
    call expect(MPI_ERR_OTHER, 'too many error handlers')
  end subroutine
end program
