! SPDX-License-Identifier: BSD-3-Clause
! A profiler interposes the procedures of the three bindings by their names, and calls the library by the names with P.
module counters
  implicit none
  integer :: plain = 0, typed = 0, large = 0, ranked = 0
end module

subroutine mpi_send(buf, count, datatype, dest, tag, comm, ierror)
  use counters
  implicit none
  integer :: buf(*), count, datatype, dest, tag, comm, ierror
  plain = plain + 1
  call pmpi_send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

subroutine mpi_send_f08ts(buf, count, datatype, dest, tag, comm, ierror)
  use counters
  use mpi_f08, unused => mpi_send_f08ts
  implicit none
  type(*), dimension(..), intent(in) :: buf
  integer, intent(in) :: count, dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  typed = typed + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

subroutine mpi_send_c_f08ts(buf, count, datatype, dest, tag, comm, ierror)
  use counters
  use mpi_f08, unused => mpi_send_c_f08ts
  implicit none
  type(*), dimension(..), intent(in) :: buf
  integer(MPI_COUNT_KIND), intent(in) :: count
  integer, intent(in) :: dest, tag
  type(MPI_Datatype), intent(in) :: datatype
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  large = large + 1
  call PMPI_Send(buf, count, datatype, dest, tag, comm, ierror)
end subroutine

subroutine mpi_comm_rank_f08(comm, rank, ierror)
  use counters
  use mpi_f08, unused => mpi_comm_rank_f08
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, intent(out) :: rank
  integer, optional, intent(out) :: ierror
  ranked = ranked + 1
  call PMPI_Comm_rank(comm, rank, ierror)
end subroutine
