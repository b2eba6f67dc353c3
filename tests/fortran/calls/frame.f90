! SPDX-License-Identifier: BSD-3-Clause
! The frame of the programs that write.py makes: declarations and callbacks. <Comm> is INTEGER or TYPE(MPI_Comm).
module calls_callbacks
  use, intrinsic :: iso_c_binding
  USE
  implicit none
  integer :: seen = 0, freed = 0
contains
  BEGIN old
  subroutine add(invec, inoutvec, len, datatype)
    integer :: len, datatype, invec(len), inoutvec(len)
    if (datatype == MPI_INTEGER) inoutvec = inoutvec + invec
  end subroutine
  END
  BEGIN f08
  subroutine add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(invec, from, [len])
    call c_f_pointer(inoutvec, to, [len])
    if (datatype == MPI_INTEGER) to = to + from
  end subroutine
  subroutine add_c(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: from(:), to(:)
    call c_f_pointer(invec, from, [len])
    call c_f_pointer(inoutvec, to, [len])
    if (datatype == MPI_INTEGER) to = to + from
  end subroutine
  END
  FOREACH comm:Comm type:Datatype win:Win
  subroutine copy_NOUN(object, keyval, extra_state, value_in, value_out, flag, ierror)
    <KIND> :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    value_out = value_in + extra_state
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_NOUN(object, keyval, value, extra_state, ierror)
    <KIND> :: object
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    ierror = MPI_SUCCESS
  end subroutine
  END
  FOREACH comm:Comm file:File session:Session win:Win
  subroutine on_NOUN_error(object, code)
    <KIND> :: object
    integer :: code
    seen = code
  end subroutine
  END
  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    <Status> :: status
    integer :: ierror
    call MPI_Status_set_tag(status, 77, ierror)
    call MPI_Status_set_elements(status, MPI_BYTE, 0, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
  end subroutine
  subroutine release(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = freed + 1
    extra_state = extra_state + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
  subroutine file_extent(datatype, extent, extra_state, ierror)
    <Datatype> :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = 4
    ierror = MPI_SUCCESS
  end subroutine
end module

module calls_state
  use, intrinsic :: iso_c_binding
  use calls_callbacks
  implicit none
  integer, parameter :: most = 64
  BEGIN old
  integer :: a(most), b(most), pool(1024)
  END
  BEGIN f08
  integer, asynchronous :: a(most), b(most), pool(1024)
  END
  integer, pointer :: cells(:)
  integer :: me, ranks, next, wrong = 0, made = 0, ierr
  integer :: i, j, n, n2, ni, na, nd, keyval
  integer :: counts(most) = 1, places(most), bytes(most), sizes(2) = 4, zeros(2) = 0
  integer :: list(most), list2(most), list3(most), list4(most), ranges(3, 1)
  integer(MPI_COUNT_KIND) :: n_c, n2_c, ni_c, na_c, nl_c, nd_c, wide, wide2
  integer(MPI_COUNT_KIND) :: counts_c(most) = 1, places_c(most), bytes_c(most), sizes_c(2) = 4, zeros_c(2) = 0
  integer(MPI_COUNT_KIND) :: larges(8)
  integer(MPI_ADDRESS_KIND) :: address1, address2, address3, value, size1, apart(most), bytes2(8), state = 0
  integer(MPI_OFFSET_KIND) :: offset
  double precision :: x
  logical :: flag, truth(2), mpich
  character(len=MPI_MAX_OBJECT_NAME + MPI_MAX_PROCESSOR_NAME) :: text = ' '
  character(len=MPI_MAX_ERROR_STRING + MPI_MAX_LIBRARY_VERSION_STRING) :: long_text = ' '
  character(len=MPI_MAX_PORT_NAME) :: port
  character(len=200) :: name
  character(len=8) :: names(1) = 'nothing'
  character(len=24) :: service
  type(c_ptr) :: place
  <Address> :: base, detached
  <Comm> :: comm, comm2, comm3, comm4
  <Group> :: group, group2, group3
  <Info> :: info, info2, infos(1)
  <Errhandler> :: handler
  <Session> :: session
  <Request> :: request, requests(2)
  <Message> :: message
  <Datatype> :: type, type2, types(most), types2(2)
  <Op> :: op
  <Win> :: win
  <File> :: file
  BEGIN old
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  END
  BEGIN f08
  type(MPI_Status) :: status, statuses(2)
  END
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (ok) return
    wrong = wrong + 1
    print *, 'rank', me, ': ', what
  end subroutine

  subroutine done(what)
    character(len=*), intent(in) :: what
    character(len=MPI_MAX_ERROR_STRING) :: reason
    integer :: length, code
    made = made + 1
    if (ierr == MPI_SUCCESS) return
    wrong = wrong + 1
    call MPI_Error_string(ierr, reason, length, code)
    print *, 'rank', me, ': ', what, ': ', reason(1:length)
  end subroutine

  subroutine refused(what)
    character(len=*), intent(in) :: what
    made = made + 1
    call check(ierr /= MPI_SUCCESS, what // ' succeeds')
  end subroutine

  subroutine start_pair
    call MPI_Irecv(b, 4, MPI_INTEGER, me, 1, comm, requests(1), ierr)
    call MPI_Isend(a, 4, MPI_INTEGER, me, 1, comm, requests(2), ierr)
  end subroutine

  subroutine run_request
    call MPI_Start(request, ierr)
    call done('MPI_Start')
    call MPI_Wait(request, status, ierr)
    call done('MPI_Wait')
    call MPI_Request_free(request, ierr)
    call done('MPI_Request_free')
  end subroutine

  subroutine set_up
    call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierr)
    call MPI_Comm_rank(comm, me, ierr)
    call MPI_Comm_size(comm, ranks, ierr)
    call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierr)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierr)
    call MPI_Get_library_version(long_text, n, ierr)
    mpich = index(long_text, 'MPICH') == 1
    next = mod(me + 1, ranks)
    a = [(i, i = 1, most)]
    b = 0
    places = [(i, i = 0, most - 1)]
    bytes = 4 * places
    places_c = places
    bytes_c = bytes
    apart = bytes
    types2 = MPI_INTEGER
    types = MPI_INTEGER
    infos = MPI_INFO_NULL
    write (service, '(a, i0)') 'PREFIXSTYLE', me
    call get_environment_variable('CALLS_FILE', name)
    name = trim(name) // '.PREFIXSTYLE'
  end subroutine
end module
