! SPDX-License-Identifier: BSD-3-Clause
! Spawns this program: commands and arguments arrive without the blanks that fill Fortran's strings, with those inside.
! F08: by mpi_f08, MPIF: by mpif.h, else by `use mpi`.
#if defined(F08)
#define USE_MPI use mpi_f08
#define HEADER
#define HANDLE(kind) type(kind)
#define NUMBER(handle) handle%MPI_VAL
#elif defined(MPIF)
#define USE_MPI
#define HEADER include 'mpif.h'
#define HANDLE(kind) integer
#define NUMBER(handle) handle
#else
#define USE_MPI use mpi
#define HEADER
#define HANDLE(kind) integer
#define NUMBER(handle) handle
#endif
program spawn
  USE_MPI
  implicit none
  HEADER
  integer :: wrong = 0, wrongs, rank, ierr
  HANDLE(MPI_Comm) :: parent
  character(len=200) :: self

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_get_parent(parent, ierr)
  call get_command_argument(0, self)
  if (parent /= MPI_COMM_NULL) then
    call child
  else
    call one
    call two
    call without_arguments
    call MPI_Allreduce(wrong, wrongs, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (rank == 0) print *, 'spawn:', wrongs, 'wrong'
  end if
  call MPI_Finalize(ierr)
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(len=*), intent(in) :: what
    if (ok) return
    wrong = wrong + 1
    print *, 'rank', rank, ': ', what
  end subroutine

  ! Tells its parent how many arguments it has, and the first.
  subroutine child
    character(len=20) :: word
    integer :: count
    count = command_argument_count()
    call get_command_argument(1, word)
    if (rank == 0) then
      call MPI_Send(count, 1, MPI_INTEGER, 0, 1, parent, ierr)
      call MPI_Send(word, len(word), MPI_CHARACTER, 0, 2, parent, ierr)
    end if
    call MPI_Comm_disconnect(parent, ierr)
  end subroutine

  subroutine hear(inter, count, word)
    HANDLE(MPI_Comm), intent(in) :: inter
    integer, intent(in) :: count
    character(len=*), intent(in) :: word
    character(len=20) :: came
    integer :: n
    call MPI_Recv(n, 1, MPI_INTEGER, 0, 1, inter, MPI_STATUS_IGNORE, ierr)
    call MPI_Recv(came, len(came), MPI_CHARACTER, 0, 2, inter, MPI_STATUS_IGNORE, ierr)
    call check(n == count, 'number of arguments')
    call check(came == word, 'argument: ' // came)
  end subroutine

  subroutine one
    HANDLE(MPI_Comm) :: inter
    character(len=20) :: words(3) = [character(len=20) :: 'with blanks', 'more', ' ']
    integer :: codes(2), remote
    codes = -1
    call MPI_Comm_spawn(self, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes, ierr)
    call check(all(codes == MPI_SUCCESS), 'error codes')
    call MPI_Comm_remote_size(inter, remote, ierr)
    call check(remote == 2, 'size of the spawned job')
    if (rank == 0) call hear(inter, 2, 'with blanks')
    call MPI_Comm_disconnect(inter, ierr)
  end subroutine

  ! The arguments of one command are a row.
  subroutine two
    HANDLE(MPI_Comm) :: inter
    HANDLE(MPI_Info) :: infos(2)
    character(len=200) :: commands(2)
    character(len=20) :: words(2, 3)
    integer :: remote
    commands = self
    infos = MPI_INFO_NULL
    ! MPI reads these at the root only.
    if (rank /= 0) NUMBER(infos) = -12345
    words(1, :) = [character(len=20) :: 'first', 'a', ' ']
    words(2, :) = [character(len=20) :: 'second', ' ', ' ']
    call MPI_Comm_spawn_multiple(2, commands, words, [1, 1], infos, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE, ierr)
    call MPI_Comm_remote_size(inter, remote, ierr)
    call check(remote == 2, 'size of two spawned programs')
    if (rank == 0) call hear(inter, 2, 'first')
    call MPI_Comm_disconnect(inter, ierr)
  end subroutine

  subroutine without_arguments
    HANDLE(MPI_Comm) :: inter
    HANDLE(MPI_Info) :: infos(2)
    character(len=200) :: commands(2)
    integer :: codes(2)
    commands = self
    infos = MPI_INFO_NULL
    call MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE, ierr)
    if (rank == 0) call hear(inter, 0, ' ')
    call MPI_Comm_disconnect(inter, ierr)
    codes = -1
    call MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, [1, 1], infos, 0, MPI_COMM_WORLD, inter, codes, ierr)
    call check(all(codes == MPI_SUCCESS), 'error codes of two programs')
    if (rank == 0) call hear(inter, 0, ' ')
    call MPI_Comm_disconnect(inter, ierr)
  end subroutine
end program
