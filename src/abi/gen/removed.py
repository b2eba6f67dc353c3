# SPDX-License-Identifier: BSD-3-Clause
"""The C names that MPI 3.0 took out of the standard, as inline functions over those that replaced them: the ABI has no
symbols for them, and some programs still use them. -DHERALD_NO_REMOVED_NAMES leaves them out."""

# old name, new name, parameters as both take them: (C type, name)
RENAMED = (
    ("Address", "Get_address", (("const void*", "location"), ("MPI_Aint*", "address"))),
    ("Errhandler_create", "Comm_create_errhandler",
     (("MPI_Handler_function*", "function"), ("MPI_Errhandler*", "errhandler"))),
    ("Errhandler_get", "Comm_get_errhandler", (("MPI_Comm", "comm"), ("MPI_Errhandler*", "errhandler"))),
    ("Errhandler_set", "Comm_set_errhandler", (("MPI_Comm", "comm"), ("MPI_Errhandler", "errhandler"))),
    ("Type_hindexed", "Type_create_hindexed",
     (("int", "count"), ("const int*", "lengths"), ("const MPI_Aint*", "displacements"), ("MPI_Datatype", "oldtype"),
      ("MPI_Datatype*", "newtype"))),
    ("Type_hvector", "Type_create_hvector",
     (("int", "count"), ("int", "length"), ("MPI_Aint", "stride"), ("MPI_Datatype", "oldtype"),
      ("MPI_Datatype*", "newtype"))),
    ("Type_struct", "Type_create_struct",
     (("int", "count"), ("const int*", "lengths"), ("const MPI_Aint*", "displacements"),
      ("const MPI_Datatype*", "types"), ("MPI_Datatype*", "newtype"))),
)

BOUNDS = """static __inline__ int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint* extent) {
  MPI_Aint lb;
  return MPI_Type_get_extent(datatype, &lb, extent);
}
static __inline__ int MPI_Type_lb(MPI_Datatype datatype, MPI_Aint* displacement) {
  MPI_Aint extent;
  return MPI_Type_get_extent(datatype, displacement, &extent);
}
static __inline__ int MPI_Type_ub(MPI_Datatype datatype, MPI_Aint* displacement) {
  MPI_Aint extent = 0;
  int code = MPI_Type_get_extent(datatype, displacement, &extent);
  if (code == MPI_SUCCESS) *displacement += extent;
  return code;
}
"""


def removed_names():
    out = ["/* Names that MPI 3.0 removed, over those that replaced them. */", "#if !defined(HERALD_NO_REMOVED_NAMES)",
           "typedef MPI_Comm_errhandler_function MPI_Handler_function;"]
    for old, new, parameters in RENAMED:
        takes = ", ".join(f"{kind} {name}" for kind, name in parameters)
        gives = ", ".join(name for _, name in parameters)
        out.append(f"static __inline__ int MPI_{old}({takes}) {{ return MPI_{new}({gives}); }}")
    return "\n".join(out) + "\n" + BOUNDS + "#endif\n"
