! SPDX-License-Identifier: BSD-3-Clause
! The values that this compiler has for .TRUE. and .FALSE.
block data herald_logical_values
  logical :: values(2)
  common /herald_logicals/ values
  data values /.true., .false./
end block data
