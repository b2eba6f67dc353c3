! SPDX-License-Identifier: BSD-3-Clause
! One status in the three languages: INTEGER(MPI_STATUS_SIZE), TYPE(MPI_Status) and C, by every conversion. The handle
! types of mpi_f08 are those of `use mpi` too.
module statuses_in_c
  use, intrinsic :: iso_c_binding
  use mpi, only : MPI_Status, MPI_STATUS_SIZE
  implicit none
  interface
    ! Each returns 0 if C reads source 3, tag 4 and 5 integers, and that the message was cancelled.
    integer(c_int) function f_status_in_c(status) bind(C)
      import :: c_int, MPI_STATUS_SIZE
      integer(c_int) :: status(MPI_STATUS_SIZE)
    end function
    integer(c_int) function f08_status_in_c(status) bind(C)
      import :: c_int, MPI_Status
      type(MPI_Status) :: status
    end function
    subroutine statuses_of_c(status, typed) bind(C)
      import :: c_int, MPI_Status, MPI_STATUS_SIZE
      integer(c_int) :: status(MPI_STATUS_SIZE)
      type(MPI_Status) :: typed
    end subroutine
  end interface
end module

! By the module mpi.
subroutine from_old_module(status, typed, wrong)
  use mpi
  use statuses_in_c
  implicit none
  integer :: status(MPI_STATUS_SIZE), back(MPI_STATUS_SIZE), wrong, n, ierr
  type(MPI_Status) :: typed
  type(MPI_Comm) :: comm
  logical :: flag
  status = 0
  call MPI_Status_set_source(status, 3, ierr)
  call MPI_Status_set_tag(status, 4, ierr)
  call MPI_Status_set_error(status, MPI_ERR_TRUNCATE, ierr)
  call MPI_Status_set_elements(status, MPI_INTEGER, 5, ierr)
  call MPI_Status_set_cancelled(status, .true., ierr)
  if (f_status_in_c(status) /= 0) wrong = wrong + 1
  call MPI_Status_f2f08(status, typed, ierr)
  if (typed%MPI_SOURCE /= 3 .or. typed%MPI_TAG /= 4 .or. typed%MPI_ERROR /= MPI_ERR_TRUNCATE) wrong = wrong + 1
  back = 0
  call MPI_Status_f082f(typed, back, ierr)
  if (any(back /= status)) wrong = wrong + 1
  call statuses_of_c(back, typed)
  call MPI_Get_elements(back, MPI_INTEGER, n, ierr)
  call MPI_Test_cancelled(back, flag, ierr)
  if (n /= 5 .or. .not. flag .or. back(MPI_SOURCE) /= 3 .or. back(MPI_TAG) /= 4) wrong = wrong + 1
  ! A handle of mpi_f08 in a program of `use mpi`.
  comm%MPI_VAL = MPI_COMM_SELF
  call MPI_Comm_size(comm%MPI_VAL, n, ierr)
  if (n /= 1) wrong = wrong + 1
end subroutine

program statuses
  use mpi_f08
  use statuses_in_c, only : f08_status_in_c
  implicit none
  interface
    subroutine from_old_module(status, typed, wrong)
      import :: MPI_STATUS_SIZE, MPI_Status
      integer :: status(MPI_STATUS_SIZE), wrong
      type(MPI_Status) :: typed
    end subroutine
  end interface
  integer :: status(MPI_STATUS_SIZE), other(MPI_STATUS_SIZE), n, wrong, total, rank
  type(MPI_Status) :: typed, again
  logical :: flag
  wrong = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call from_old_module(status, typed, wrong)
  call MPI_Get_elements(typed, MPI_INTEGER, n)
  call MPI_Test_cancelled(typed, flag)
  if (n /= 5 .or. .not. flag .or. typed%MPI_SOURCE /= 3 .or. typed%MPI_TAG /= 4) wrong = wrong + 1
  if (f08_status_in_c(typed) /= 0) wrong = wrong + 1
  call MPI_Status_f082f(typed, other)
  if (other(MPI_SOURCE) /= 3 .or. other(MPI_TAG) /= 4 .or. other(MPI_ERROR) /= MPI_ERR_TRUNCATE) wrong = wrong + 1
  call MPI_Status_f2f08(other, again)
  if (f08_status_in_c(again) /= 0 .or. again%MPI_ERROR /= MPI_ERR_TRUNCATE) wrong = wrong + 1
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, 'statuses:', total, ' wrong'
  call MPI_Finalize()
  if (total /= 0) stop 1
end program
